#include "variant/batch_view.h"

#include <algorithm>
#include <cstring>

#include "variant/resident_modules.h"
#include "veneer/error.h"

namespace veneer::variant {
namespace {

Fingerprint options_fingerprint(const Description& description) {
  FingerprintBuilder builder;
  add_to_fingerprint(builder, description.extras->options);
  return builder.finish();
}

// With low-rank patches as side branches, whatever the engine's policy is.
Description with_branches(const Description& description) {
  Description out = description;
  Runtime runtime = *description.runtime;
  runtime.apply_mode = LoraApplyMode::branch;
  out.runtime = std::make_shared<const Runtime>(std::move(runtime));
  return out;
}

void require_alike(const Description& a, const Description& b) {
  const auto fail = [](const char* rule) { throw Error(ErrorCode::invalid, std::string("batch of variants: ") + rule); };
  if (a.model != b.model) fail("all have to be of one base model");
  if (a.compute_dtype != b.compute_dtype) fail("all have to compute in one dtype");
  if (options_fingerprint(a) != options_fingerprint(b)) fail("all have to have the same model options");
  for (const ModuleDef& def : a.model->modules()) {
    if (def.kind != ModuleKind::norm && def.kind != ModuleKind::embedding) continue;
    for (const char* part : {".weight", ".bias"}) {
      const std::string key = def.name + part;
      if (!a.model->has_key(key) || (!a.is_patched(key) && !b.is_patched(key))) continue;
      if (a.weight_fingerprint(key) != b.weight_fingerprint(key)) {
        throw Error(ErrorCode::invalid, "batch of variants: norms and embeddings have no rows, so their patches have to be the same", {{"key", key}});
      }
    }
  }
}

void copy_rows(const Tensor& from, Tensor& to, int64_t begin) {
  const size_t row_bytes = to.size_bytes() / static_cast<size_t>(to.dim(0));
  std::memcpy(static_cast<std::byte*>(static_cast<void*>(to.mutable_bytes())) + static_cast<size_t>(begin) * row_bytes, from.bytes(),
              from.size_bytes());
}

Shape with_first(const Shape& shape, int64_t first) {
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims.front() = first;
  return Shape(dims);
}

}  // namespace

BatchView::BatchView(std::span<const ModelPatcher> variants, std::vector<size_t> variant_of_row) {
  if (variants.empty() || variant_of_row.empty()) throw Error(ErrorCode::invalid, "batch of variants: there have to be variants and rows");
  for (const ModelPatcher& patcher : variants) {
    require_alike(variants.front().description(), patcher.description());
    variants_.push_back(std::make_shared<LoadedVariant>(with_branches(patcher.description())));
  }
  rows_ = static_cast<int64_t>(variant_of_row.size());
  for (int64_t row = 0; row < rows_; ++row) {
    const size_t index = variant_of_row[static_cast<size_t>(row)];
    if (index >= variants.size()) {
      throw Error(ErrorCode::invalid, "batch of variants: a row's variant is not in the list",
                  {{"row", std::to_string(row)}, {"variant", std::to_string(index)}, {"allowed", "0 to " + std::to_string(variants.size() - 1)}});
    }
    if (!segments_.empty() && segments_.back().variant == index) {
      ++segments_.back().count;
    } else {
      segments_.push_back({index, row, 1});
    }
  }
}

template <typename Resident>
Tensor BatchView::forward(compute::Context& context, ModuleId module, const LayerInput& x, const compute::Epilogue& epilogue) {
  if (x.rank() < 1 || x.dim(0) != rows_) {
    throw Error(ErrorCode::invalid, "batch of variants: the batch has another number of rows",
                {{"want", std::to_string(rows_)}, {"got", x.shape().to_string()}});
  }
  std::vector<LoadedVariant::Use> uses;
  uses.reserve(variants_.size());
  bool one_base = true, any_branch = false;
  for (const auto& variant : variants_) {
    uses.push_back(variant->use(module));
    one_base = one_base && uses.back().main.object == uses.front().main.object;
    any_branch = any_branch || !uses.back().branches.empty();
  }
  const auto layer = [&](size_t variant) -> const auto& { return *static_cast<const Resident&>(*uses[variant].main.object).weights; };
  if (one_base && !any_branch) return forward_alone(context, layer(0), x, epilogue);

  const bool linear_end = epilogue.activation == compute::Activation::none;
  Tensor whole;  // the sum of branches where the base is shared, else the result
  for (const Segment& segment : segments_) {
    const std::vector<LoadedVariant::Branch>& branches = uses[segment.variant].branches;
    const LayerInput rows = x.slice(segment.begin, segment.count);
    Tensor residual;
    if (epilogue.residual != nullptr) residual = epilogue.residual->slice(segment.begin, segment.count);
    const Tensor* added = residual.defined() ? &residual : nullptr;
    Tensor part;
    if (!one_base) {
      const compute::Epilogue own{epilogue.activation, added};
      part = branches.empty() ? forward_alone(context, layer(segment.variant), rows, own)
                              : forward_with_branches(context, layer(segment.variant), branches, rows, own);
    } else if (!branches.empty()) {
      part = branch_sum(context, branches, rows, linear_end ? added : nullptr);
    } else if (linear_end && added != nullptr) {
      part = residual;
    }
    if (!whole.defined()) {
      // The first segments may have nothing to add: their rows stay zero.
      if (!part.defined()) continue;
      whole = Tensor::zeros(with_first(part.shape(), rows_), part.dtype(), context.scratch);
    }
    if (part.defined()) copy_rows(part, whole, segment.begin);
  }
  return one_base ? forward_with_sum(context, layer(0), whole, x, epilogue) : whole;
}

Tensor BatchView::linear(compute::Context& context, ModuleId module, const Tensor& x, const compute::Epilogue& epilogue) {
  return forward<ResidentLinear>(context, module, x, epilogue);
}

Tensor BatchView::conv2d(compute::Context& context, ModuleId module, const compute::ConvInput& x, const compute::Epilogue& epilogue) {
  return forward<ResidentConv2d>(context, module, x, epilogue);
}

NormWeights BatchView::norm(ModuleId module) { return static_cast<const ResidentNorm&>(*variants_.front()->use(module).main.object).weights; }

Tensor BatchView::embedding(ModuleId module) {
  const std::string key = base().modules().at(module).name + ".weight";
  if (!variants_.front()->description().is_patched(key)) return base().weight(key);
  return static_cast<const ResidentTable&>(*variants_.front()->use(module).main.object).table;
}

}  // namespace veneer::variant

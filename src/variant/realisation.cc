#include "variant/realisation.h"

#include <cmath>

#include "compute/packed_size.h"
#include "compute/stored_linear.h"
#include "patch/branch_factors.h"
#include "patch/patched_rows.h"
#include "tensor/convert.h"
#include "variant/resident_modules.h"
#include "variant/weight_recipe.h"
#include "veneer/error.h"

namespace veneer::variant {
namespace {

using Hooked = Description::Hooked;

std::string weight_key(const ModuleDef& def) { return def.name + ".weight"; }
std::string bias_key(const ModuleDef& def) { return def.name + ".bias"; }

// Whether a side branch gives what the record asks for.
bool is_branch(const patch::PatchRecord& record) {
  return !record.offset && !record.function && record.strength_model == 1 && record.value->low_rank().has_value();
}

bool all_branches(std::span<const patch::PatchRecord> records) {
  for (const patch::PatchRecord& record : records) {
    if (!is_branch(record)) return false;
  }
  return true;
}

// Records that do not fit are an error, which a branch tells as well as a patched weight does; but the reference leaves them out, and only the
// patched weight knows which those are.
bool all_fit(const Description& description, const std::string& key) {
  if (description.runtime->compat == patch::PatchCompat::standard) return true;
  const Shape& shape = description.model->weight(key).shape();
  try {
    for (const patch::PatchRecord& record : description.all_records(key, Hooked::yes)) record.value->check(shape);
  } catch (const Error&) {
    return false;
  }
  return true;
}

// Whether a branch beside the module is a product of two matrices: beside a linear layer, or a convolution that looks at single pixels.
bool is_of_matrices(const ModuleDef& def, const Shape& weight) {
  if (def.kind == ModuleKind::linear) return true;
  return weight.num_elements_from(2) == 1 && def.geometry == compute::ConvGeometry{};
}

// Which records run beside the weight: none, those of hooks, or all.
enum class Beside : uint8_t { none, hooks, all };

Beside choose(const Description& description, const ModuleDef& def) {
  const LoraApplyMode mode = description.runtime->apply_mode;
  if (mode == LoraApplyMode::materialised || mode == LoraApplyMode::on_demand) return Beside::none;
  if (def.kind != ModuleKind::linear && def.kind != ModuleKind::conv2d) return Beside::none;
  const std::string key = weight_key(def);
  const auto hooks = description.hook_records(key);
  if (!description.wrappers(key).empty() || !all_branches(hooks) || !all_fit(description, key)) return Beside::none;
  if (mode == LoraApplyMode::branch && all_branches(description.records(key))) return Beside::all;
  return hooks.empty() ? Beside::none : Beside::hooks;
}

size_t convolution_bytes(const ModuleDef& def, const Shape& weight, DType compute_dtype, DType kept) {
  return def.geometry.enlarges ? compute::enlarging_size_estimate(weight, compute_dtype) : compute::packed_size_estimate(weight, compute_dtype, kept);
}

void add_branches(const Description& description, const ModuleDef& def, std::span<const patch::PatchRecord> records, Realisation& out) {
  for (const patch::PatchRecord& record : records) {
    const patch::LowRank factors = *record.value->low_rank();
    BranchRealisation branch;
    branch.scale = static_cast<float>(record.strength_patch * factors.scale);
    if (branch.scale == 0) continue;  // exactly the base
    if (!std::isfinite(branch.scale)) {
      throw Error(ErrorCode::invalid, "variant: strength is too large",
                  {{"key", weight_key(def)}, {"strength", std::to_string(record.strength_patch)}});
    }
    branch.value = record.value;
    FingerprintBuilder key;
    key.add("branch").add(def.kind).add(record.value->fingerprint()).add(description.compute_dtype);
    key.add(def.geometry.stride)
        .add(def.geometry.pad_top)
        .add(def.geometry.pad_left)
        .add(def.geometry.pad_bottom)
        .add(def.geometry.pad_right)
        .add(def.geometry.enlarges);
    branch.key = key.finish();
    // Matrices take no memory beside the adapter.
    if (!is_of_matrices(def, description.model->weight(weight_key(def)).shape())) {
      branch.bytes = convolution_bytes(def, factors.down.shape(), description.compute_dtype, description.compute_dtype);
    }
    out.branches.push_back(std::move(branch));
  }
}

// `as_it_is`: the weight is the base's own.
size_t expected_bytes(const Description& description, const ModuleDef& def, bool as_it_is) {
  const std::string key = weight_key(def);
  const Shape weight = description.patched_shape(key);
  const size_t bias = def.has_bias ? static_cast<size_t>(description.patched_shape(bias_key(def)).num_elements()) * sizeof(float) : 0;
  if (def.kind == ModuleKind::linear || def.kind == ModuleKind::conv2d) {
    const DType source = as_it_is ? description.model->weight(key).plain_dtype() : DType::f32;
    const DType kept = compute::kept_dtype(source, description.compute_dtype, description.runtime->weight_storage);
    return convolution_bytes(def, weight, description.compute_dtype, kept) + bias;
  }
  return static_cast<size_t>(weight.num_elements()) * sizeof(float) + bias;
}

// A patched weight that is computed anew, as a whole, each time that it is asked for: for layers that keep their source, but not in memory.
class RemadeWeight final : public compute::RowSource {
 public:
  RemadeWeight(const Description& description, const std::string& key, Hooked hooked)
      : recipe_(WeightRecipe::of(description, key, hooked)), shape_(description.patched_shape(key)) {}
  const Shape& shape() const override { return shape_; }
  Tensor whole() const override { return recipe_.make(DType::f32); }
  void tile(const Tile& tile, const TileValues& out) const override { copy_to_f32(whole(), tile, out); }

 private:
  const WeightRecipe recipe_;
  const Shape shape_;
};

// The weight as the packer should read it: the stored tensor itself when nothing changes it, rows that are patched while they are packed where all
// records allow that.
compute::WeightSource source_weight(const Description& description, const std::string& key, Hooked hooked) {
  const std::vector<patch::PatchRecord> records = description.all_records(key, hooked);
  if (!description.wrappers(key).empty()) return description.patched_weight(key, DType::f32, hooked);
  if (records.empty()) return description.model->weight(key);
  patch::CalculateOptions options;
  options.compat = description.runtime->compat;
  if (auto rows = patch::PatchedRows::make(description.model->weight(key), records, DType::f32, key, options)) {
    return {std::make_shared<const patch::PatchedRows>(std::move(*rows))};
  }
  return description.patched_weight(key, DType::f32, hooked);
}

// The same for a layer that keeps it: what was computed here shows that it can be, and goes.
compute::WeightSource kept_source(const Description& description, const std::string& key, Hooked hooked) {
  compute::WeightSource source = source_weight(description, key, hooked);
  if (source.made() != nullptr || !source.stored().writable()) return source;
  return {std::make_shared<const RemadeWeight>(description, key, hooked)};
}

Error with_key(const Error& error, const std::string& key) { return error.find("key").empty() ? error.with("key", key) : error; }

}  // namespace

Realisation realise(const Description& description, ModuleId module) {
  const ModuleDef& def = description.model->modules().at(module);
  const std::string key = weight_key(def);
  const Beside beside = choose(description, def);
  Realisation out;
  FingerprintBuilder builder;
  builder.add(def.kind);
  if (beside == Beside::all) {
    Description plain = description;
    static const auto kNone = std::make_shared<const PatchMap>();
    plain.patches = kNone;
    builder.add(plain.weight_fingerprint(key, Hooked::no));
    out.weight = Realisation::Weight::base;
  } else {
    out.weight = beside == Beside::hooks ? Realisation::Weight::without_hooks : Realisation::Weight::patched;
    const Hooked hooked = beside == Beside::hooks ? Hooked::no : Hooked::yes;
    builder.add(description.weight_fingerprint(key, hooked));
    out.patched =
        !description.records(key).empty() || !description.wrappers(key).empty() || (hooked == Hooked::yes && !description.hook_records(key).empty());
  }
  const bool as_it_is = !out.patched;
  if (def.has_bias) {
    builder.add(description.weight_fingerprint(bias_key(def)));
    out.patched = out.patched || description.is_patched(bias_key(def));
  }
  out.key = builder.finish();
  out.keep = !(out.patched && description.runtime->apply_mode == LoraApplyMode::on_demand);
  out.bytes = expected_bytes(description, def, as_it_is);
  if (beside == Beside::all) add_branches(description, def, description.records(key), out);
  if (beside != Beside::none) add_branches(description, def, description.hook_records(key), out);
  return out;
}

std::shared_ptr<const residency::Resident> build_module(const Description& description, ModuleId module, const Realisation& how) {
  const ModuleDef& def = description.model->modules().at(module);
  const std::string key = weight_key(def);
  const auto weight = [&]() -> compute::WeightSource {
    if (how.weight == Realisation::Weight::base) return description.model->weight(key);
    const Hooked hooked = how.weight == Realisation::Weight::patched ? Hooked::yes : Hooked::no;
    return def.geometry.enlarges ? kept_source(description, key, hooked) : source_weight(description, key, hooked);
  };
  const auto bias = [&] { return def.has_bias ? description.patched_weight(bias_key(def)) : Tensor(); };
  const DType dtype = description.compute_dtype;
  const compute::WeightStorage storage = description.runtime->weight_storage;
  switch (def.kind) {
    case ModuleKind::linear: return std::make_shared<ResidentLinear>(compute::Linear::create(weight(), bias(), dtype, storage));
    case ModuleKind::conv2d: return std::make_shared<ResidentConv2d>(compute::Conv2d::create(weight(), bias(), def.geometry, dtype, storage));
    case ModuleKind::norm: return std::make_shared<ResidentNorm>(NormWeights{description.patched_weight(key), bias()});
    case ModuleKind::embedding: return std::make_shared<ResidentTable>(description.patched_weight(key));
  }
  throw Error(ErrorCode::internal, "variant: unknown module kind", {{"module", def.name}});
}

std::shared_ptr<const residency::Resident> build_branch(const Description& description, ModuleId module, const BranchRealisation& branch) {
  const ModuleDef& def = description.model->modules().at(module);
  const std::string key = weight_key(def);
  const Shape& shape = description.model->weight(key).shape();
  const DType dtype = description.compute_dtype;
  try {
    const patch::LowRank factors = patch::branch_factors(description.model->weight(key), *branch.value, branch.scale, dtype);
    const int64_t rank = factors.down.dim(0);
    std::shared_ptr<const compute::Linear> up = compute::make_stored_linear(factors.up, dtype);
    if (is_of_matrices(def, shape)) {
      return std::make_shared<ResidentBranch>(compute::make_stored_linear(factors.down.reshape({rank, shape[1]}), dtype), std::move(up));
    }
    const Tensor down = factors.down.reshape({rank, shape[1], shape[2], shape[3]});
    return std::make_shared<ResidentBranch>(compute::Conv2d::create(down, Tensor(), def.geometry, dtype), std::move(up));
  } catch (const Error& error) {
    throw with_key(error, key);
  }
}

}  // namespace veneer::variant

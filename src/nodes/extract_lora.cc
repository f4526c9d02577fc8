#include "nodes/extract_lora.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "nodes/low_rank.h"
#include "patch/patch_record.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

constexpr std::string_view kWeight = ".weight", kBias = ".bias";

// Ratios of merges are no exact binary fractions.
bool nearly(double value, double want) { return std::abs(value - want) < 1e-6; }

Tensor minus(const Tensor& a, const Tensor& b) {
  Tensor out = Tensor::empty(a.shape(), DType::f32);
  copy_to_f32(b, out.mutable_floats());
  const std::span<const float> values = a.floats();
  const std::span<float> difference = out.mutable_floats();
  for (size_t i = 0; i < difference.size(); ++i) difference[i] = values[i] - difference[i];
  return out;
}

// f32; undefined for a weight that is the base's.
Tensor difference_of(const variant::ModelPatcher& model, const std::string& key) {
  if (!model.description().is_patched(key)) return {};
  const double share = patch::weight_share(model.key_patches(key));
  if (nearly(share, 0)) return model.patched_weight(key);
  if (!nearly(share, 1)) {
    throw Error(ErrorCode::invalid, "extract: neither a model nor the difference of two models", {{"key", key}, {"share", std::to_string(share)}});
  }
  const Tensor& base = model.model()->weight(key);
  const Tensor patched = model.patched_weight(key);
  if (patched.shape() != base.shape()) {
    throw Error(ErrorCode::invalid, "extract: a patch changes the weight's shape",
                {{"key", key}, {"want", base.shape().to_string()}, {"got", patched.shape().to_string()}});
  }
  return minus(patched, base);
}

// The largest magnitude. Throws Error(invalid) for values that are not finite.
float peak_of(const Tensor& tensor, const std::string& key) {
  float peak = 0;
  for (const float v : tensor.floats()) {
    if (!std::isfinite(v)) throw Error(ErrorCode::invalid, "extract: the difference is not finite", {{"key", key}});
    peak = std::max(peak, std::abs(v));
  }
  return peak;
}

// f16 unless its range ends below the largest value, or that value is too small for it.
DType stored_dtype(float peak) { return peak == 0 || (peak >= 0x1p-14F && peak <= 65504.0F) ? DType::f16 : DType::f32; }

class Extractor {
 public:
  Extractor(const variant::ModelPatcher& model, const ExtractOptions& options)
      : model_(std::make_shared<const variant::ModelPatcher>(model)), options_(options) {}

  void add(const std::string& key, const std::string& layer) {
    const bool bias = key.ends_with(kBias);
    if (!bias && !key.ends_with(kWeight)) return;
    const bool factored = !bias && options_.kind == ExtractOptions::Kind::standard;
    const Shape& shape = model_->model()->weight(key).shape();
    if (!options_.bias_diff && (bias || (factored && shape.rank() < 2))) return;
    const Tensor difference = difference_of(*model_, key);
    if (!difference.defined()) return;
    const float peak = peak_of(difference, key);
    if (peak == 0) return;
    if (factored && difference.rank() >= 2) {
      add_factors(layer, difference);
    } else {
      // Made again when it is written: all differences together are as large as a model.
      const DType dtype = stored_dtype(peak);
      out_.push_back({layer + (bias ? ".diff_b" : ".diff"), dtype, difference.shape(),
                      [model = model_, key, dtype] { return to_dtype(difference_of(*model, key), dtype); }});
    }
  }

  Tensors finish() { return std::move(out_); }

 private:
  void add_factors(const std::string& layer, const Tensor& difference) {
    const Shape& shape = difference.shape();
    const LowRankPair pair = low_rank_pair(difference.reshape({shape[0], shape.num_elements_from(1)}), options_.rank);
    // Convolutions: the first one has the kernel, the second is 1 x 1.
    std::vector<int64_t> up(shape.dims().begin(), shape.dims().end()), down = up;
    std::fill(up.begin() + 1, up.end(), 1);
    down[0] = up[1] = pair.down.dim(0);
    add_tensor(layer + ".lora_up.weight", pair.up.reshape(Shape(std::span<const int64_t>(up))));
    add_tensor(layer + ".lora_down.weight", pair.down.reshape(Shape(std::span<const int64_t>(down))));
  }

  void add_tensor(std::string name, const Tensor& tensor) {
    Tensor stored = to_dtype(tensor, stored_dtype(peak_of(tensor, name)));
    out_.push_back({std::move(name), stored.dtype(), stored.shape(), [stored = std::move(stored)] { return stored; }});
  }

  std::shared_ptr<const variant::ModelPatcher> model_;
  const ExtractOptions& options_;
  Tensors out_;
};

}  // namespace

Tensors extract_adapter(const variant::ModelPatcher& model, std::string_view key_prefix, std::string_view layer_prefix,
                        const ExtractOptions& options) {
  Extractor extractor(model, options);
  for (const auto& [key, weight] : model.model()->weights()) {
    if (options.progress) options.progress();
    if (!key.starts_with(key_prefix) || weight.num_elements() == 0) continue;
    const std::string name = key.substr(key_prefix.size());
    extractor.add(key, std::string(layer_prefix) + name.substr(0, name.rfind('.')));
  }
  return extractor.finish();
}

}  // namespace veneer::nodes

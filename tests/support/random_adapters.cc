#include "support/random_adapters.h"

#include <array>
#include <cmath>

#include "compute/test_data.h"
#include "patch/adapter_file.h"
#include "patch/kinds/values.h"

namespace veneer::testing {
namespace {

using compute::random_tensor;
using patch::AdapterTensors;

constexpr int64_t kRank = 2;

AdapterTensors layer_of(AdapterKind kind, const Shape& shape, uint32_t seed) {
  const int64_t out = shape[0], in = shape.num_elements_from(1);
  const float size = 0.7F / std::sqrt(static_cast<float>(shape.num_elements_from(1)));
  AdapterTensors file;
  if (kind == AdapterKind::loha) {
    for (const char* name : {"hada_w1_a", "hada_w2_a"}) file[std::string("layer.") + name] = random_tensor({out, kRank}, seed++, 1.0F);
    file["layer.hada_w1_b"] = random_tensor({kRank, in}, seed++, size);
    file["layer.hada_w2_b"] = random_tensor({kRank, in}, seed++, 0.5F);
    return file;
  }
  const bool conv = shape.rank() == 4;
  file["layer.lora_up.weight"] = random_tensor(conv ? Shape({out, kRank, 1, 1}) : Shape({out, kRank}), seed++, 1.0F);
  file["layer.lora_down.weight"] = random_tensor(conv ? Shape({kRank, shape[1], shape[2], shape[3]}) : Shape({kRank, in}), seed++, size);
  file["layer.alpha"] = Tensor::from({1}, std::array<float, 1>{1.5F});
  if (kind == AdapterKind::dora) file["layer.dora_scale"] = random_tensor({out, 1}, seed++, 0.1F, 1.0F);
  return file;
}

class CountedValue final : public patch::PatchValue {
 public:
  CountedValue(patch::PatchValuePtr inner, std::string key, std::shared_ptr<AppliedLayers> layers, bool as_branch)
      : PatchValue(inner->kind(), {}, {}, inner->fingerprint()),
        inner_(std::move(inner)),
        key_(std::move(key)),
        layers_(std::move(layers)),
        as_branch_(as_branch) {}

  void check(const Shape& weight) const override {
    inner_->check(weight);
    if (as_branch_ && inner_->low_rank()) layers_->note(key_);
  }
  Shape shape_after(const Shape& weight) const override { return inner_->shape_after(weight); }
  void apply(patch::WorkingWeight& weight, double strength, const patch::WeightFunction* function) const override {
    inner_->apply(weight, strength, function);
    layers_->note(key_);
  }
  std::unique_ptr<patch::RowAdder> row_adder(const Shape& weight, double strength) const override {
    auto adder = inner_->row_adder(weight, strength);
    if (adder) layers_->note(key_);
    return adder;
  }
  std::optional<patch::LowRank> low_rank() const override { return inner_->low_rank(); }

 private:
  patch::PatchValuePtr inner_;
  std::string key_;
  std::shared_ptr<AppliedLayers> layers_;
  bool as_branch_;
};

}  // namespace

Patches random_adapter(const variant::BaseModel& base, AdapterKind kind, uint32_t seed, const KeyFilter& takes) {
  patch::KeyMap map;
  map.add("layer", "weight");
  Patches out;
  for (const auto& [key, weight] : base.weights()) {
    seed += 16;
    if (takes && !takes(key)) continue;
    if (kind == AdapterKind::diff) {
      out[key] = patch::make_diff(random_tensor(weight.shape(), seed, 0.05F));
    } else if (weight.rank() >= 2) {
      out[key] = patch::load_adapter(layer_of(kind, weight.shape(), seed), map, {}).patches.at("weight");
    }
  }
  return out;
}

Patches grown_feed_forward(const variant::BaseModel& base, uint32_t seed) {
  constexpr int64_t kMore = 8;
  Patches out;
  const auto grow = [&](const std::string& key, const Shape& shape) { out[key] = patch::make_diff(random_tensor(shape, ++seed, 0.05F), true); };
  for (const auto& [key, weight] : base.weights()) {
    if (key.ends_with("ff.net.0.proj.weight")) {
      const std::string stem = key.substr(0, key.size() - std::string_view("0.proj.weight").size());
      grow(key, {weight.dim(0) + 2 * kMore, weight.dim(1)});
      grow(stem + "0.proj.bias", Shape({weight.dim(0) + 2 * kMore}));
      grow(stem + "2.weight", {weight.dim(1), weight.dim(0) / 2 + kMore});
    }
  }
  return out;
}

Patches counted(const Patches& patches, const std::shared_ptr<AppliedLayers>& layers, bool as_branch) {
  Patches out;
  for (const auto& [key, value] : patches) out[key] = std::make_shared<CountedValue>(value, key, layers, as_branch);
  return out;
}

}  // namespace veneer::testing

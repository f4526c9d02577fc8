// A network of one layer of each kind and a few more, with random weights, for the tests of this room.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compute/ops.h"
#include "compute/test_data.h"
#include "patch/adapter_file.h"
#include "patch/kinds/values.h"
#include "variant/model_patcher.h"

namespace veneer::variant::testing {

using Patches = std::map<std::string, patch::PatchValuePtr, std::less<>>;

class SmallNetwork {
 public:
  explicit SmallNetwork(uint32_t seed = 1, std::string architecture = "small") {
    std::map<std::string, Tensor, std::less<>> weights;
    ModuleTable table;
    const auto add = [&](const char* name, ModuleKind kind, const Shape& shape) {
      weights[std::string(name) + ".weight"] = compute::random_tensor(shape, ++seed, 0.2F, kind == ModuleKind::norm ? 1.0F : 0.0F);
      if (kind != ModuleKind::embedding) weights[std::string(name) + ".bias"] = compute::random_tensor(Shape({shape[0]}), ++seed, 0.2F);
      const auto geometry = kind == ModuleKind::conv2d ? compute::ConvGeometry::same3x3() : compute::ConvGeometry{};
      return table.add({.name = name, .kind = kind, .has_bias = kind != ModuleKind::embedding, .geometry = geometry});
    };
    table_ = add("table", ModuleKind::embedding, {16, 24});
    in_ = add("in", ModuleKind::linear, {32, 24});
    norm_ = add("norm", ModuleKind::norm, Shape({32}));
    conv_ = add("conv", ModuleKind::conv2d, {64, 32, 3, 3});
    mid_ = add("mid", ModuleKind::linear, {96, 64});
    out_ = add("out", ModuleKind::linear, {8, 96});
    base = BaseModel::create(std::move(architecture), std::move(table), std::move(weights), "small.safetensors");
  }

  // Of all 16 rows of the table, as a picture of 4 x 4.
  std::vector<float> run(ModelView& view) const {
    compute::Context context;
    const NormWeights norm = view.norm(norm_);
    Tensor x = view.linear(context, in_, view.embedding(table_).reshape({1, 16, 24}), {.activation = compute::Activation::silu});
    x = compute::layer_norm(context, x, norm.weight, norm.bias, 1e-5F);
    x = view.conv2d(context, conv_, x.reshape({1, 4, 4, 32}));
    x = view.linear(context, mid_, x, {.activation = compute::Activation::gelu});
    x = view.linear(context, out_, x);
    return {x.floats().begin(), x.floats().end()};
  }
  std::vector<float> run(const ModelPatcher& patcher) const { return run(*patcher.open_view()); }

  // Low-rank products on all layers that can have one.
  Patches lora(uint32_t seed) const {
    patch::KeyMap map;
    patch::AdapterTensors file;
    for (const char* name : {"in", "conv", "mid", "out"}) {
      const std::string layer(name);
      const Shape& shape = base->weight(layer + ".weight").shape();
      const bool conv = shape.rank() == 4;
      file[layer + ".lora_up.weight"] = compute::random_tensor(conv ? Shape({shape[0], 2, 1, 1}) : Shape({shape[0], 2}), ++seed, 0.3F);
      file[layer + ".lora_down.weight"] = compute::random_tensor(conv ? Shape({2, shape[1], 3, 3}) : Shape({2, shape[1]}), ++seed, 0.1F);
      map.add(layer, layer + ".weight");
    }
    return patch::load_adapter(file, map, {}).patches;
  }

  // Differences of everything.
  Patches differences(uint32_t seed) const {
    Patches out;
    for (const auto& [key, weight] : base->weights()) out[key] = patch::make_diff(compute::random_tensor(weight.shape(), ++seed, 0.05F));
    return out;
  }

  std::shared_ptr<const BaseModel> base;

 private:
  ModuleId table_, in_, norm_, conv_, mid_, out_;
};

inline std::shared_ptr<const Runtime> runtime_with(size_t budget, LoraApplyMode mode = LoraApplyMode::materialised,
                                                   ResidencyMode residency = ResidencyMode::classic) {
  Runtime runtime;
  runtime.residents = std::make_shared<residency::ResidentSet>(budget);
  runtime.apply_mode = mode;
  runtime.residency = residency;
  return std::make_shared<const Runtime>(std::move(runtime));
}

}  // namespace veneer::variant::testing

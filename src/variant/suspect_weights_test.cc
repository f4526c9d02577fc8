#include "variant/suspect_weights.h"

#include <gtest/gtest.h>

#include <limits>

#include "patch/adapter_file.h"
#include "patch/kinds/values.h"
#include "variant/testing/small_network.h"

namespace veneer::variant {
namespace {

using testing::SmallNetwork;

// The value that a file of one layer holds for the key.
patch::PatchValuePtr from_file(const char* file, const std::string& key, const patch::AdapterTensors& tensors) {
  patch::KeyMap map;
  map.add("layer", key);
  patch::AdapterOptions options;
  options.file_name = file;
  return patch::load_adapter(tensors, map, {}, options).patches.at(key);
}

std::string find(const Error::Context& context, std::string_view name) {
  for (const auto& [known, value] : context) {
    if (known == name) return value;
  }
  return {};
}

class SuspectWeights : public ::testing::Test {
 protected:
  const Shape& shape(const std::string& key) const { return network_.base->weight(key).shape(); }
  ModelPatcher patcher() const { return ModelPatcher(network_.base, testing::runtime_with(residency::ResidentSet::kUnlimited), DType::f32); }
  Tensor filled(const std::string& key, float value) const {
    Tensor out = Tensor::zeros(shape(key), DType::f32);
    for (float& v : out.mutable_floats()) v = value;
    return out;
  }

  SmallNetwork network_;
};

TEST_F(SuspectWeights, TheFileAndTensorOfTheAdapterThatMadeAWeightHugeAreNamed) {
  ModelPatcher variant = patcher();
  variant.add_patches({{"in.weight", from_file("mild.safetensors", "in.weight", {{"layer.diff", filled("in.weight", 0.1F)}})}});
  variant.add_patches({{"mid.weight", from_file("mild.safetensors", "mid.weight", {{"layer.diff", filled("mid.weight", 0.1F)}})}});
  variant.add_hook_patches({{"mid.weight", from_file("wild.safetensors", "mid.weight", {{"layer.diff", filled("mid.weight", 1e6F)}})}}, 0.5);
  const Error::Context found = suspects(variant.description());
  EXPECT_EQ(find(found, "file"), "wild.safetensors");
  EXPECT_EQ(find(found, "tensor"), "layer.diff");
  EXPECT_EQ(find(found, "key"), "mid.weight");
  EXPECT_EQ(find(found, "strength"), "0.5");
  EXPECT_FALSE(find(found, "of the patched weight").empty());
}

TEST_F(SuspectWeights, UsualAdaptersAreNoSuspects) {
  ModelPatcher variant = patcher();
  variant.add_patches(network_.differences(3));
  EXPECT_TRUE(suspects(variant.description()).empty());
}

TEST_F(SuspectWeights, AWeightOfTheBaseThatIsNotFiniteIsNamed) {
  std::map<std::string, Tensor, std::less<>> weights;
  for (const auto& [key, tensor] : network_.base->weights()) weights.emplace(key, tensor.clone());
  weights.at("mid.weight").mutable_floats()[1] = std::numeric_limits<float>::quiet_NaN();
  ModuleTable table;
  for (const ModuleDef& module : network_.base->modules()) table.add(module);
  const auto base = BaseModel::create("toy", std::move(table), std::move(weights), "broken.safetensors");
  const ModelPatcher variant(base, testing::runtime_with(residency::ResidentSet::kUnlimited), DType::f32);
  const Error::Context found = suspects(variant.description());
  EXPECT_EQ(find(found, "file"), "broken.safetensors");
  EXPECT_EQ(find(found, "tensor"), "mid.weight");
}

TEST_F(SuspectWeights, AnErrorBesideAReshapedWeightNamesItsFile) {
  const Shape& old = shape("mid.weight");
  const int64_t rows = old[0] * 2, columns = old.num_elements_from(1);
  ModelPatcher variant = patcher();
  variant.add_patches(
      {{"mid.weight",
        from_file("grown.safetensors", "mid.weight",
                  {{"layer.lora_up.weight", Tensor::zeros({rows, 1}, DType::f32)},
                   {"layer.lora_down.weight", Tensor::zeros({1, columns}, DType::f32)},
                   {"layer.reshape_weight", Tensor::from(Shape({2}), std::vector<float>{static_cast<float>(rows), static_cast<float>(columns)})}})}});
  const Error plain(ErrorCode::invalid, "linear: input does not fit the weight", {{"want", "8"}});
  const Error named = with_reshaped_weight(plain, variant.description());
  EXPECT_EQ(named.text(), plain.text());
  EXPECT_EQ(named.find("file"), "grown.safetensors");
  EXPECT_EQ(named.find("key"), "mid.weight");
  EXPECT_EQ(named.find("of the patched weight"), Shape({rows, columns}).to_string());
  // Another weight's error, another kind of error, and a variant that reshapes nothing.
  EXPECT_TRUE(with_reshaped_weight(plain.with("key", "in.weight"), variant.description()).find("file").empty());
  EXPECT_TRUE(with_reshaped_weight(Error(ErrorCode::cancelled, "stopped"), variant.description()).find("file").empty());
  EXPECT_TRUE(with_reshaped_weight(plain, patcher().description()).find("file").empty());
}

}  // namespace
}  // namespace veneer::variant

// Weights kept in 16 bits beside f32 ones: the same network in less memory, whatever a variant does to it.
#include <gtest/gtest.h>

#include "compute/block_cache.h"
#include "tensor/convert.h"
#include "variant/realisation.h"
#include "variant/testing/small_network.h"

namespace veneer::variant {
namespace {

using testing::SmallNetwork;

SmallNetwork network_in_f16() {
  SmallNetwork network;
  std::map<std::string, Tensor, std::less<>> weights;
  for (const auto& [key, weight] : network.base->weights()) weights[key] = key == "table.weight" ? weight : to_dtype(weight, DType::f16);
  ModuleTable modules;
  for (const ModuleDef& def : network.base->modules()) modules.add(def);
  network.base = BaseModel::create("small", std::move(modules), std::move(weights), "small.safetensors");
  return network;
}

std::shared_ptr<const Runtime> runtime_that_keeps(compute::WeightStorage storage, LoraApplyMode mode, ResidencyMode residency, size_t budget) {
  Runtime runtime = *testing::runtime_with(budget, mode, residency);
  runtime.weight_storage = storage;
  return std::make_shared<const Runtime>(std::move(runtime));
}

TEST(WeightStorage, CompactWeightsGiveTheSameBitsInEveryRealisationAndUnderEveryBudget) {
  const SmallNetwork network = network_in_f16();
  for (const LoraApplyMode mode : {LoraApplyMode::materialised, LoraApplyMode::branch, LoraApplyMode::on_demand}) {
    for (const ResidencyMode residency : {ResidencyMode::classic, ResidencyMode::dynamic}) {
      for (const size_t budget : {size_t{0}, size_t{40'000}, residency::ResidentSet::kUnlimited}) {
        const auto outputs = [&](compute::WeightStorage storage) {
          const auto runtime = runtime_that_keeps(storage, mode, residency, budget);
          const ModelPatcher base(network.base, runtime, DType::f32);
          ModelPatcher variant = base.clone();
          variant.add_patches(network.lora(7), 0.8);
          std::vector<std::vector<float>> out = {network.run(base), network.run(variant), network.run(variant), network.run(base)};
          constexpr size_t kLargestModule = size_t{64} * 32 * 9 * sizeof(float) + 64 * sizeof(float);
          const size_t limit = budget == residency::ResidentSet::kUnlimited ? budget : budget + kLargestModule;
          EXPECT_LE(runtime->residents->peak_bytes(), limit);
          return out;
        };
        EXPECT_EQ(outputs(compute::WeightStorage::compact), outputs(compute::WeightStorage::computed)) << static_cast<int>(mode) << " " << budget;
      }
    }
  }
}

TEST(WeightStorage, TheBaseTakesHalfAndIsExpectedTo) {
  const SmallNetwork network = network_in_f16();
  const auto kept = [&](compute::WeightStorage storage) {
    const auto runtime = runtime_that_keeps(storage, LoraApplyMode::automatic, ResidencyMode::classic, residency::ResidentSet::kUnlimited);
    const ModelPatcher base(network.base, runtime, DType::f32);
    (void)network.run(base);
    size_t expected = 0;
    for (ModuleId module = 0; module < network.base->modules().size(); ++module) {
      // The table is read in the base.
      if (network.base->modules()[module].kind != ModuleKind::embedding) expected += realise(base.description(), module).bytes;
    }
    EXPECT_EQ(runtime->residents->size_bytes(), expected) << "what a load plan counts with is what is there";
    return runtime->residents->size_bytes();
  };
  const size_t plain = kept(compute::WeightStorage::computed), compact = kept(compute::WeightStorage::compact);
  // Norms, biases and the table are f32 in both.
  EXPECT_LT(compact, plain * 6 / 10);
}

// Layers that keep what their weight is made of would otherwise keep the set that keeps them.
TEST(WeightStorage, AKeptLayerKeepsNeitherItsModelNorItsResidentSet) {
  ModuleTable modules;
  modules.add({.name = "up", .kind = ModuleKind::conv2d, .has_bias = true, .geometry = compute::ConvGeometry::enlarging3x3()});
  std::map<std::string, Tensor, std::less<>> weights;
  weights["up.weight"] = compute::random_tensor({64, 64, 3, 3}, 1, 0.1F);
  weights["up.bias"] = compute::random_tensor({64}, 2, 0.1F);
  auto base = BaseModel::create("up", std::move(modules), std::move(weights), "up.safetensors");
  auto runtime =
      runtime_that_keeps(compute::WeightStorage::computed, LoraApplyMode::materialised, ResidencyMode::classic, residency::ResidentSet::kUnlimited);
  auto patcher = std::make_unique<ModelPatcher>(base, runtime, DType::f32);
  for (const bool patched : {false, true}) {
    if (patched) patcher->add_patches({{"up.weight", patch::make_diff(compute::random_tensor({64, 64, 3, 3}, 3, 0.1F))}}, 0.5);
    compute::BlockCache scratch;
    compute::Context context{.scratch = scratch};
    const Tensor x = compute::random_tensor({1, 8, 8, 64}, 4);
    (void)patcher->open_view()->conv2d(context, 0, x);
  }
  EXPECT_EQ(runtime->residents->account().size(), 2U);
  const std::weak_ptr<const BaseModel> model = base;
  const std::weak_ptr<residency::ResidentSet> residents = runtime->residents;
  base.reset();
  patcher.reset();
  EXPECT_TRUE(model.expired()) << "entries of a model that is gone can be dropped";
  runtime.reset();
  EXPECT_TRUE(residents.expired());
}

}  // namespace
}  // namespace veneer::variant

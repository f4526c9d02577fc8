// Weights kept in 16 bits beside f32 ones: the same network in less memory, whatever a variant does to it.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace veneer::variant

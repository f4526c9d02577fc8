// Dynamic residency: the next module is made while the current one is in use, and no variant takes another one's modules away.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>

#include "residency/testing/untouched_pages.h"
#include "variant/loaded_variant.h"
#include "variant/testing/small_network.h"

namespace veneer::variant {
namespace {

using residency::ResidentSet;
using testing::Patches;
using testing::SmallNetwork;

// Which threads computed something, by weight.
class Threads {
 public:
  void note(const std::string& key) {
    const std::lock_guard lock(mutex_);
    seen_.emplace(key, std::this_thread::get_id());
  }
  // Waits until the weight was computed by another thread than the one that asks.
  void wait_for_another(const std::string& key) {
    while (true) {
      {
        const std::lock_guard lock(mutex_);
        for (const auto& [name, thread] : seen_) {
          if (name == key && thread != std::this_thread::get_id()) return;
        }
      }
      std::this_thread::yield();
    }
  }

 private:
  std::mutex mutex_;
  std::multimap<std::string, std::thread::id> seen_;
};

class NotedValue final : public patch::PatchValue {
 public:
  NotedValue(patch::PatchValuePtr inner, std::string key, Threads& threads)
      : PatchValue(inner->kind(), {}, {}, inner->fingerprint()), inner_(std::move(inner)), key_(std::move(key)), threads_(threads) {}
  void check(const Shape& weight) const override { inner_->check(weight); }
  void apply(patch::WorkingWeight& weight, double strength, const patch::WeightFunction* function) const override {
    threads_.note(key_);
    inner_->apply(weight, strength, function);
  }

 private:
  patch::PatchValuePtr inner_;
  std::string key_;
  Threads& threads_;
};

ModelPatcher dynamic_variant(const SmallNetwork& network, const std::shared_ptr<const Runtime>& runtime) {
  return ModelPatcher(network.base, runtime, DType::f32);
}

ModuleId id_of(const BaseModel& base, std::string_view name) {
  ModuleId id = 0;
  while (base.modules().at(id).name != name) ++id;
  return id;
}

// Bytes of the whole network when it is ready to run, and of its largest module.
struct Sizes {
  size_t all = 0, largest = 0;
};
Sizes sizes_of(const SmallNetwork& network) {
  const auto runtime = testing::runtime_with(ResidentSet::kUnlimited);
  (void)network.run(dynamic_variant(network, runtime));
  Sizes out{runtime->residents->size_bytes(), 0};
  for (const auto& entry : runtime->residents->account()) out.largest = std::max(out.largest, entry.size_bytes);
  return out;
}

TEST(DynamicResidency, TheNextModuleIsMadeWhileTheCurrentOneIsInUse) {
  const SmallNetwork network;
  const auto runtime = testing::runtime_with(sizes_of(network).all * 2, LoraApplyMode::materialised, ResidencyMode::dynamic);
  Threads threads;
  ModelPatcher patcher = dynamic_variant(network, runtime);
  Patches noted;
  for (const auto& [key, value] : network.differences(3)) noted[key] = std::make_shared<NotedValue>(value, key, threads);
  patcher.add_patches(noted);
  LoadedVariant variant(patcher.description());
  const LoadedVariant::Part current = variant.use_main(id_of(*network.base, "conv"));
  // Nobody has asked for it, and the current one is still in use. The test does not end when it does not come.
  threads.wait_for_another("mid.weight");
  EXPECT_NE(current.object, nullptr);
  EXPECT_EQ(variant.placement(id_of(*network.base, "mid")), LoadedVariant::Placement::undecided);
}

// Whether the next module's weight is read from its file before anybody asks for the module.
void expect_read_ahead(size_t budget, LoraApplyMode mode, bool patched) {
  const SmallNetwork network;
  std::map<std::string, Tensor, std::less<>> weights = network.base->weights();
  const auto pages = std::make_shared<residency::testing::UntouchedPages>(size_t{8} << 20);
  ASSERT_TRUE(pages->ok());
  Tensor& weight = weights.at("mid.weight");
  weight = Tensor::view(weight.shape(), DType::f32, pages->bytes().data(), pages);
  ModuleTable table;
  for (const ModuleDef& module : network.base->modules()) table.add(module);
  const auto base = BaseModel::create("toy", std::move(table), std::move(weights), "mapped");
  ModelPatcher patcher(base, testing::runtime_with(budget, mode, ResidencyMode::dynamic), DType::f32);
  if (patched) patcher.add_patches({{"mid.weight", network.lora(1).at("mid.weight")}});
  LoadedVariant variant(patcher.description());
  ASSERT_EQ(pages->num_touched(), 0U);
  const LoadedVariant::Part current = variant.use_main(id_of(*base, "conv"));
  const size_t wanted = (base->weight("mid.weight").size_bytes() + 4095) / 4096;
  // The test does not end when they do not come.
  while (pages->num_touched() < wanted) std::this_thread::yield();
  EXPECT_NE(current.object, nullptr);
}

TEST(DynamicResidency, TheNextModulesWeightIsReadWhileTheCurrentOneIsInUse) {
  expect_read_ahead(sizes_of(SmallNetwork()).all * 2, LoraApplyMode::materialised, false);
  expect_read_ahead(ResidentSet::kUnlimited, LoraApplyMode::materialised, false);
}

TEST(DynamicResidency, AWeightThatIsMadeInTheForwardOrHasNoRoomIsReadAheadToo) {
  expect_read_ahead(sizes_of(SmallNetwork()).all * 2, LoraApplyMode::on_demand, true);
  expect_read_ahead(0, LoraApplyMode::materialised, true);
}

TEST(DynamicResidency, ClassicResidencyFetchesNothingAhead) {
  const SmallNetwork network;
  const auto runtime = testing::runtime_with(sizes_of(network).all * 2);
  LoadedVariant variant(dynamic_variant(network, runtime).description());
  (void)variant.use_main(id_of(*network.base, "conv"));
  EXPECT_EQ(runtime->residents->num_builds(), 1U);
}

TEST(DynamicResidency, FourSubsetsAreAccounted) {
  const SmallNetwork network;
  const auto runtime = testing::runtime_with(sizes_of(network).all * 4, LoraApplyMode::materialised, ResidencyMode::dynamic);
  ModelPatcher patcher = dynamic_variant(network, runtime);
  const Patches lora = network.lora(1);
  patcher.add_patches({{"mid.weight", lora.at("mid.weight")}});
  LoadedVariant variant(patcher.description());
  EXPECT_EQ(variant.account().weights, network.base->size_bytes());
  EXPECT_EQ(variant.account().patches, lora.at("mid.weight")->size_bytes());
  EXPECT_EQ(variant.account().weights_loaded, 0U);
  EXPECT_EQ(variant.account().patches_loaded, 0U);
  const LoadedVariant::Part plain = variant.use_main(id_of(*network.base, "in"));
  EXPECT_EQ(variant.account().weights_loaded, plain.object->size_bytes());
  EXPECT_EQ(variant.account().patches_loaded, 0U);
  const LoadedVariant::Part patched = variant.use_main(id_of(*network.base, "mid"));
  EXPECT_EQ(variant.account().weights_loaded, plain.object->size_bytes());
  EXPECT_EQ(variant.account().patches_loaded, patched.object->size_bytes());
}

TEST(DynamicResidency, NoModelTakesAnotherOnesModulesWhileItIsLoaded) {
  const SmallNetwork first(1), second(2);
  const Sizes sizes = sizes_of(first);
  const auto runtime = testing::runtime_with(sizes.all + sizes.largest, LoraApplyMode::materialised, ResidencyMode::dynamic);
  const ModelPatcher a = dynamic_variant(first, runtime), b = dynamic_variant(second, runtime);
  LoadedVariant loaded(a.description());
  for (ModuleId module = 0; module < first.base->modules().size(); ++module) (void)loaded.load(module);
  const size_t held = loaded.account().weights_loaded;
  ASSERT_GT(held, sizes.all / 2);
  const auto alone = second.run(dynamic_variant(second, testing::runtime_with(ResidentSet::kUnlimited)));
  EXPECT_EQ(second.run(b), alone) << "the other one runs in what is left";
  EXPECT_EQ(loaded.account().weights_loaded, held);
  EXPECT_LE(runtime->residents->peak_bytes(), runtime->residents->budget_bytes() + 2 * sizes.largest);
}

// What is let go goes module by module, the one that was not used for longest first.
TEST(DynamicResidency, AModelThatRanBeforeLosesOnlyWhatIsNeeded) {
  const SmallNetwork first(1), second(2);
  const Sizes sizes = sizes_of(first);
  const auto runtime = testing::runtime_with(2 * sizes.all - sizes.largest / 2, LoraApplyMode::materialised, ResidencyMode::dynamic);
  (void)first.run(dynamic_variant(first, runtime));
  (void)second.run(dynamic_variant(second, runtime));
  size_t left = 0;
  for (const auto& entry : runtime->residents->account()) left += entry.size_bytes;
  EXPECT_GT(left, sizes.all) << "modules of the first one are still there";
  EXPECT_LE(left, runtime->residents->budget_bytes());
}

}  // namespace
}  // namespace veneer::variant

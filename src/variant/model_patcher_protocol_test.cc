// The protocol of ModelPatcher: clones, loading and what is observable in between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <utility>

#include "variant/testing/small_network.h"
#include "veneer/error.h"

namespace veneer::variant {
namespace {

using residency::ResidentSet;
using ::testing::ElementsAre;

Error error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorCode::internal, "no error");
}

class PatcherProtocol : public ::testing::Test {
 protected:
  const testing::SmallNetwork network_;
  const std::shared_ptr<const Runtime> runtime_ = testing::runtime_with(ResidentSet::kUnlimited);
  ModelPatcher base_{network_.base, runtime_, DType::f32};
};

TEST_F(PatcherProtocol, ADeepCopySharesNothingAndComputesTheSame) {
  ModelPatcher patcher = base_.clone();
  patcher.add_patches(network_.lora(1), 0.5);
  ModelPatcher copy = patcher.clone({.force_deepcopy = true});
  EXPECT_FALSE(copy.is_clone(patcher));
  EXPECT_FALSE(copy.clone_has_same_weights(patcher));
  EXPECT_EQ(copy.model()->content_fingerprint(), patcher.model()->content_fingerprint());
  EXPECT_NE(copy.model()->weight("mid.weight").bytes(), patcher.model()->weight("mid.weight").bytes());
  EXPECT_EQ(network_.run(copy), network_.run(patcher));
  copy.load();
  EXPECT_EQ(copy.loaded_size(), copy.model_size());
  EXPECT_EQ(patcher.loaded_size(), 0U);
  EXPECT_EQ(copy.parent(), patcher.identity());
}

TEST_F(PatcherProtocol, AModelOverrideIsAnotherBaseUnderTheSamePatches) {
  const testing::SmallNetwork other(100);
  ModelPatcher patcher = base_.clone();
  patcher.add_patches(network_.lora(1), 0.5);
  const ModelPatcher moved = patcher.clone({.model_override = other.base});
  EXPECT_FALSE(moved.is_clone(patcher));
  ModelPatcher wanted(other.base, runtime_, DType::f32);
  wanted.add_patches(network_.lora(1), 0.5);
  EXPECT_TRUE(moved.clone_has_same_weights(wanted));
  EXPECT_EQ(network_.run(moved), network_.run(wanted));
}

TEST_F(PatcherProtocol, AModelOverrideOfAnotherArchitectureIsRefused) {
  const testing::SmallNetwork other(1, "other");
  const Error error = error_of([&] { base_.clone({.model_override = other.base}); });
  EXPECT_EQ(error.code(), ErrorCode::invalid);
  EXPECT_EQ(error.find("want"), "small");
  EXPECT_EQ(error.find("got"), "other");
}

TEST_F(PatcherProtocol, DisableDynamicMakesTheCloneClassicWithASlotOfItsOwn) {
  const ModelPatcher dynamic(network_.base, testing::runtime_with(ResidentSet::kUnlimited, LoraApplyMode::materialised, ResidencyMode::dynamic),
                             DType::f32);
  const ModelPatcher classic = dynamic.clone({.disable_dynamic = true});
  EXPECT_EQ(classic.runtime().residency, ResidencyMode::classic);
  EXPECT_EQ(classic.runtime().residents, dynamic.runtime().residents);
  EXPECT_NE(&classic.load_slot(), &dynamic.load_slot());
  EXPECT_TRUE(classic.clone_has_same_weights(dynamic));
  EXPECT_EQ(&base_.clone({.disable_dynamic = true}).load_slot(), &base_.load_slot());
  EXPECT_EQ(&dynamic.clone().load_slot(), &dynamic.load_slot());
}

TEST_F(PatcherProtocol, OnlyPatchesRefreshTheUuid) {
  ModelPatcher patcher = base_.clone();
  EXPECT_EQ(patcher.patches_uuid(), base_.patches_uuid());
  patcher.set_attachment("name", 1);
  patcher.add_object_patch("name", ModelObject::of(Fingerprint{1, 1}, std::make_shared<const int>(1)));
  patcher.add_hook_patches(network_.lora(1), 0.5);
  EXPECT_EQ(patcher.patches_uuid(), base_.patches_uuid());
  patcher.add_patches(network_.lora(1), 0.0);
  EXPECT_NE(patcher.patches_uuid(), base_.patches_uuid());
}

TEST_F(PatcherProtocol, PatchesThatAreNoneOrStrengthsThatAreNoNumbersAreRefused) {
  ModelPatcher patcher = base_.clone();
  patcher.add_patches(network_.lora(1), 0.5);
  const Fingerprint before = patcher.fingerprint(), uuid = patcher.patches_uuid();
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(error_of([&] { patcher.add_patches(network_.lora(1), nan); }).code(), ErrorCode::invalid);
  EXPECT_EQ(error_of([&] { patcher.add_patches(network_.lora(1), 1, -infinite); }).code(), ErrorCode::invalid);
  EXPECT_EQ(error_of([&] { patcher.add_hook_patches(network_.lora(1), infinite); }).code(), ErrorCode::invalid);
  const Error error = error_of([&] { patcher.add_patches({{"mid.weight", nullptr}}, 1); });
  EXPECT_EQ(error.code(), ErrorCode::invalid);
  EXPECT_EQ(error.find("key"), "mid.weight");
  EXPECT_EQ(error_of([&] { patcher.add_hook_patches({{"mid.weight", nullptr}}, 1); }).code(), ErrorCode::invalid);
  const std::vector<PatchEntry> entries = {{.key = "mid.weight", .value = nullptr}};
  EXPECT_EQ(error_of([&] { patcher.add_patches(entries, 1); }).code(), ErrorCode::invalid);
  EXPECT_EQ(patcher.fingerprint(), before);
  EXPECT_EQ(patcher.patches_uuid(), uuid);
}

// A number that is none would go on through the network as one.
TEST_F(PatcherProtocol, WhatIsNotFiniteIsAnErrorInEveryApplyMode) {
  const auto broken = [&](double strength, float value) {
    const patch::AdapterTensors file = {{"mid.lora_up.weight", compute::random_tensor({96, 1}, 1, 0, value)},
                                        {"mid.lora_down.weight", compute::random_tensor({1, 64}, 2)}};
    patch::KeyMap map;
    map.add("mid", "mid.weight");
    return std::pair{patch::load_adapter(file, map, {}).patches, strength};
  };
  for (const LoraApplyMode mode : {LoraApplyMode::materialised, LoraApplyMode::on_demand, LoraApplyMode::branch}) {
    for (const auto& [patches, strength] :
         {broken(1e300, 1), broken(1, std::numeric_limits<float>::quiet_NaN()), broken(1, std::numeric_limits<float>::infinity())}) {
      ModelPatcher patcher(network_.base, testing::runtime_with(ResidentSet::kUnlimited, mode), DType::f32);
      patcher.add_patches(patches, strength);
      const Error error = error_of([&] { network_.run(patcher); });
      EXPECT_NE(error.code(), ErrorCode::internal) << to_string(mode) << " " << strength;
      EXPECT_EQ(error.find("key"), "mid.weight") << error.what();
      EXPECT_EQ(patcher.runtime().residents->num_leases(), 0U);
    }
  }
}

TEST_F(PatcherProtocol, KeyPatchesAreTheBaseAndItsRecords) {
  ModelPatcher patcher = base_.clone();
  patcher.add_patches(network_.lora(1), 0.5, 2.0);
  patcher.add_patches(network_.differences(2), 0.25);
  const auto found = patcher.get_key_patches("mid");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found.at("mid.weight").weight.bytes(), network_.base->weight("mid.weight").bytes());
  ASSERT_EQ(found.at("mid.weight").records.size(), 2U);
  EXPECT_EQ(found.at("mid.weight").records[0].strength_model, 2.0);
  EXPECT_EQ(found.at("mid.bias").records.size(), 1U);
  EXPECT_EQ(patcher.get_key_patches().size(), network_.base->weights().size());
  // A wrapper is no record, so the weight comes as it leaves the wrapper.
  patcher.add_weight_wrapper("mid.weight", {{1, 1}, [](const Tensor& weight) { return Tensor::zeros(weight.shape(), DType::f32); }});
  const KeyPatches wrapped = patcher.get_key_patches("mid.weight").at("mid.weight");
  EXPECT_TRUE(wrapped.records.empty());
  EXPECT_EQ(wrapped.weight.floats()[0], 0.0F);
}

TEST_F(PatcherProtocol, UnknownKeysAndDevicesAreErrorsThatNameThem) {
  EXPECT_EQ(error_of([&] { (void)base_.patch_weight_to_device("nothing"); }).find("key"), "nothing");
  EXPECT_EQ(error_of([&] { base_.add_weight_wrapper("nothing", {}); }).code(), ErrorCode::not_found);
  EXPECT_EQ(error_of([&] { (void)base_.get_model_object("nothing"); }).code(), ErrorCode::not_found);
  EXPECT_EQ(error_of([&] { base_.model_patches_to("cuda:0"); }).find("device"), "cuda:0");
  EXPECT_EQ(error_of([&] { base_.set_model_compute_dtype(DType::f16); }).code(), ErrorCode::invalid);
  base_.model_patches_to("cpu");
}

TEST_F(PatcherProtocol, AWeightWrapperThatReturnsSomethingElseIsAnError) {
  ModelPatcher patcher = base_.clone();
  patcher.add_weight_wrapper("mid.weight", {{1, 1}, [](const Tensor&) { return Tensor(); }});
  EXPECT_EQ(error_of([&] { network_.run(patcher); }).find("key"), "mid.weight");
  EXPECT_EQ(runtime_->residents->num_leases(), 0U);
}

TEST_F(PatcherProtocol, TheStateDictFollowsWhatIsLoaded) {
  ModelPatcher patcher = base_.clone();
  patcher.add_patches(network_.differences(1), 1);
  const auto stored = [&] { return patcher.model_state_dict("mid.weight").at("mid.weight"); };
  EXPECT_EQ(stored().bytes(), network_.base->weight("mid.weight").bytes());
  patcher.load();
  EXPECT_EQ(stored().floats()[5], patcher.patched_weight("mid.weight").floats()[5]);
  EXPECT_EQ(base_.model_state_dict("mid.weight").at("mid.weight").floats()[5], stored().floats()[5]);
  base_.unpatch_model();
  EXPECT_EQ(stored().bytes(), network_.base->weight("mid.weight").bytes());
}

TEST_F(PatcherProtocol, LoadingAnotherVariantReplacesTheOneThatIsLoaded) {
  ModelPatcher a = base_.clone(), b = base_.clone();
  a.add_patches(network_.lora(1), 1);
  b.add_patches({{"mid.bias", network_.differences(1).at("mid.bias")}}, 1);
  a.load();
  EXPECT_EQ(a.load_slot().state().loaded_uuid, a.patches_uuid());
  EXPECT_THAT(a.load_slot().state().backup, ElementsAre("conv.weight", "in.weight", "mid.weight", "out.weight"));
  b.load();
  EXPECT_EQ(a.load_slot().state().loaded_uuid, b.patches_uuid());
  EXPECT_THAT(a.load_slot().state().backup, ElementsAre("mid.bias"));
  const size_t builds = runtime_->residents->num_builds();
  network_.run(b);
  EXPECT_EQ(runtime_->residents->num_builds(), builds);
  a.detach();
  EXPECT_EQ(b.loaded_size(), 0U);
  EXPECT_EQ(runtime_->residents->num_leases(), 0U);
}

TEST_F(PatcherProtocol, LoadedSizesAddUp) {
  ModelPatcher patcher = base_.clone();
  patcher.add_patches(network_.lora(1), 1);
  const size_t size = patcher.model_size();
  patcher.load({.budget = size / 2});
  const size_t half = patcher.loaded_size();
  EXPECT_GT(half, 0U);
  EXPECT_LE(half, size / 2);
  EXPECT_EQ(patcher.offloaded_size(), size - half);
  EXPECT_TRUE(patcher.load_slot().state().low_memory);
  const size_t more = patcher.partially_load(size / 4);
  EXPECT_EQ(patcher.loaded_size(), half + more);
  EXPECT_EQ(patcher.partially_load(size), size - half - more);
  EXPECT_EQ(patcher.loaded_size(), size);
  EXPECT_EQ(patcher.partially_load(size), 0U);
  const size_t freed = patcher.partially_unload(size / 3);
  EXPECT_GT(freed, size / 3);
  EXPECT_EQ(patcher.loaded_size(), size - freed);
  patcher.partially_unload(size);
  EXPECT_LE(patcher.loaded_size(), size - freed);
  patcher.unpatch_model();
  EXPECT_EQ(patcher.loaded_size(), 0U);
}

TEST_F(PatcherProtocol, ObjectPatchesAreInTheSlotWhileTheVariantIsPatched) {
  ModelPatcher patcher = base_.clone();
  patcher.add_object_patch("name", ModelObject::of(Fingerprint{1, 1}, std::make_shared<const int>(7)));
  EXPECT_EQ(*patcher.get_model_object<int>("name"), 7);
  EXPECT_THROW((void)base_.get_model_object("name"), Error);
  patcher.patch_model();
  EXPECT_THAT(patcher.load_slot().state().object_patches_backup, ElementsAre("name"));
  EXPECT_EQ(*base_.load_slot().model_object("name").as<int>(), 7);
  patcher.unpatch_model(false);
  EXPECT_TRUE(patcher.load_slot().state().object_patches_backup.empty());
  EXPECT_EQ(patcher.loaded_size(), patcher.model_size());
  patcher.unpatch_model();
  EXPECT_EQ(patcher.loaded_size(), 0U);
}

TEST_F(PatcherProtocol, AViewOutlivesEverythingItWasMadeFrom) {
  std::unique_ptr<ModelView> view;
  std::vector<float> wanted;
  {
    const testing::SmallNetwork other(50);
    ModelPatcher patcher(other.base, testing::runtime_with(60'000), DType::f32);
    patcher.add_patches(other.lora(1), 1);
    wanted = other.run(patcher);
    view = patcher.open_view();
  }
  EXPECT_EQ(network_.run(*view), wanted);
}

}  // namespace
}  // namespace veneer::variant

// The system has no memory left, at any allocation of the variant protocol: an exception, and everything as it was.
#include <gtest/gtest.h>

#include <new>

#include "support/failing_new.h"
#include "support/random_adapters.h"
#include "support/tiny_model.h"
#include "veneer/error.h"

namespace veneer::testing {
namespace {

using variant::LoraApplyMode;
using variant::ModelPatcher;
using variant::ResidencyMode;

class VariantNoMemory : public ::testing::Test {
 protected:
  static bool attention(std::string_view key) { return key.find("attn") != std::string_view::npos; }

  // Calls `work` with a failure at its allocation 0, 1, 2, ...; then `check`.
  template <typename Work, typename Check>
  static void at_each_allocation(Work work, Check check) {
    int64_t allocations = 0;
    {
      const FailingNew count(-1);
      work();
      allocations = count.calls();
    }
    check();
    ASSERT_GT(allocations, 0);
    int64_t failures = 0;
    for (int64_t at = 0; at < allocations && !HasFailure(); ++at) {
      SCOPED_TRACE("allocation " + std::to_string(at) + " of " + std::to_string(allocations));
      try {
        const FailingNew failing(at);
        work();
      } catch (const std::bad_alloc&) {
        ++failures;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::no_memory) << error.what();
        ++failures;
      }
      check();
    }
    EXPECT_GT(failures, 0);
  }

  const TinyModel model_ = tiny_model(TinySize::one_level);
  const Fingerprint content_ = model_.base->content_fingerprint();
  const Patches lora_ = random_adapter(*model_.base, AdapterKind::lora, 1, attention);
};

TEST_F(VariantNoMemory, WhilePatchesAreAddedThePatcherStaysAsItWas) {
  ModelPatcher patcher(model_.base, runtime_with(residency::ResidentSet::kUnlimited), DType::f32);
  patcher.add_patches(lora_, 0.5);
  const Fingerprint before = patcher.fingerprint();
  const Fingerprint uuid = patcher.patches_uuid();
  const auto work = [&] {
    ModelPatcher copy = patcher.clone();
    copy.add_weight_wrapper("diffusion_model.out.2.weight", {{1, 1}, [](const Tensor& weight) { return weight; }});
    copy.add_patches(lora_, 0.25);
    copy.set_attachment("name", 7);
    copy.add_callback(variant::CallbackPoint::on_load, "name", [](ModelPatcher&, ModelPatcher*) {});
    EXPECT_NE(copy.fingerprint(), before);
  };
  at_each_allocation(work, [&] {
    EXPECT_EQ(patcher.fingerprint(), before);
    EXPECT_EQ(patcher.patches_uuid(), uuid);
  });
}

TEST_F(VariantNoMemory, AFailedSetterLeavesThePatcherAsItWas) {
  ModelPatcher patcher(model_.base, runtime_with(residency::ResidentSet::kUnlimited), DType::f32);
  // Either all of the records are there or none.
  at_each_allocation([&] { patcher.add_patches(lora_, 0.5); },
                     [&] {
                       std::set<size_t> counts;
                       for (const auto& [key, value] : lora_) counts.insert(patcher.key_patches(key).size());
                       EXPECT_EQ(counts.size(), 1U);
                     });
}

class VariantNoMemoryLoading : public VariantNoMemory, public ::testing::WithParamInterface<ResidencyMode> {};

INSTANTIATE_TEST_SUITE_P(All, VariantNoMemoryLoading, ::testing::Values(ResidencyMode::classic, ResidencyMode::dynamic),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST_P(VariantNoMemoryLoading, NothingStaysLoadedAndTheNextRunIsRight) {
  const auto runtime = runtime_with(model_.base->size_bytes() / 2, LoraApplyMode::materialised, GetParam());
  residency::ResidentSet& residents = *runtime->residents;
  const ModelPatcher base(model_.base, runtime, DType::f32);
  const Tensor wanted = sample_latents(model_, base, {.steps = 1, .cfg = 1});
  ModelPatcher patcher = base.clone();
  patcher.add_patches(lora_, 0.5);
  patcher.add_object_patch("name", base.get_model_object("model_sampling"));
  const auto work = [&] {
    residents.trim(0);
    const auto view = patcher.patch_model();
    patcher.partially_unload(patcher.model_size() / 4);
    patcher.partially_load(patcher.model_size() / 4);
    patcher.load({.budget = patcher.model_size() / 3, .force_patch_weights = true});
    patcher.detach();
  };
  int64_t checks = 0;
  at_each_allocation(work, [&] {
    patcher.unpatch_model();
    EXPECT_EQ(residents.num_leases(), 0U);
    EXPECT_EQ(residents.held_bytes(), 0U);
    EXPECT_EQ(base.load_slot().state().loaded_size, 0U);
    EXPECT_LE(residents.size_bytes(), residents.budget_bytes());
    if (checks++ % 50 != 0) return;
    EXPECT_EQ(model_.base->content_fingerprint(), content_);
    EXPECT_TRUE(same_bits(sample_latents(model_, base, {.steps = 1, .cfg = 1}), wanted));
  });
}

}  // namespace
}  // namespace veneer::testing

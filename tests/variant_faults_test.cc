// Whatever fails while a variant is patched, loaded or run: the base is untouched, nothing is leaked, and the next run is right.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <random>

#include "support/faults.h"
#include "support/random_adapters.h"
#include "support/tiny_model.h"

namespace veneer::testing {
namespace {

using residency::ResidentSet;
using variant::LoraApplyMode;
using variant::ModelPatcher;
using variant::ResidencyMode;

struct Setup {
  const char* name;
  LoraApplyMode mode;
  ResidencyMode residency;
  int budget_percent;  // of the base's bytes; 0: no limit
};

const Setup kSetups[] = {
    {"Materialised", LoraApplyMode::materialised, ResidencyMode::classic, 0},
    {"MaterialisedInHalf", LoraApplyMode::materialised, ResidencyMode::classic, 50},
    {"DynamicInHalf", LoraApplyMode::materialised, ResidencyMode::dynamic, 50},
    {"BranchInHalf", LoraApplyMode::branch, ResidencyMode::classic, 50},
    {"OnDemand", LoraApplyMode::on_demand, ResidencyMode::dynamic, 75},
};

class VariantFaults : public ::testing::TestWithParam<Setup> {
 protected:
  VariantFaults() {
    a_ = base_.clone();
    a_.add_patches(faulty(random_adapter(*model_.base, AdapterKind::lora, 1), plan_), 0.7);
    add_faulty_extensions(a_, plan_);
    b_ = base_.clone();
    b_.add_patches(faulty(random_adapter(*model_.base, AdapterKind::dora, 2, attention), plan_), 0.7);
    both_ = a_.clone();
    both_.add_patches(faulty(random_adapter(*model_.base, AdapterKind::dora, 2, attention), plan_), 0.7);
    for (size_t i = 0; i < 4; ++i) wanted_[i] = run(patcher(i));
    EXPECT_FALSE(same_bits(wanted_[0], wanted_[1]));
    EXPECT_FALSE(same_bits(wanted_[1], wanted_[3]));
  }

  static bool attention(std::string_view key) { return key.find("attn") != std::string_view::npos; }

  size_t budget() const {
    const auto percent = static_cast<size_t>(GetParam().budget_percent);
    return percent == 0 ? ResidentSet::kUnlimited : model_.base->size_bytes() * percent / 100;
  }

  ModelPatcher& patcher(size_t index) { return *std::array{&base_, &a_, &b_, &both_}.at(index); }
  const ResidentSet& residents() const { return *runtime_->residents; }

  Tensor run(const ModelPatcher& variant) {
    FaultyAllocator scratch(plan_);
    return sample_latents(model_, variant, {.steps = 1, .cfg = 1, .scratch = &scratch, .cancel = plan_->token()});
  }

  // The whole protocol once; what it computes is checked where nothing fails.
  void use(ModelPatcher& variant, const Tensor& wanted) {
    const auto view = variant.patch_model();
    EXPECT_TRUE(same_bits(run(variant), wanted));
    variant.partially_unload(variant.model_size() / 2);
    variant.partially_load(variant.model_size() / 4);
    EXPECT_TRUE(same_bits(run(variant), wanted));
    variant.load({.budget = variant.model_size() / 3, .force_patch_weights = true});
    variant.detach();
  }

  // One call of the protocol.
  void step(size_t index, int64_t which, std::vector<std::unique_ptr<variant::ModelView>>& views) {
    ModelPatcher& variant = patcher(index);
    const size_t size = variant.model_size();
    switch (which) {
      case 0: views.push_back(variant.patch_model()); break;
      case 1: variant.load({.budget = size / 2, .force_patch_weights = true}); break;
      case 2: variant.partially_load(size / 4); break;
      case 3: variant.partially_unload(size / 4); break;
      case 4: views.push_back(variant.open_view()); break;
      case 5: variant.unpatch_model(); break;
      case 6: variant.detach(); break;
      default: EXPECT_TRUE(same_bits(run(variant), wanted_[index]));
    }
  }

  // In any state: what the slot tells fits together.
  void expect_consistent_slot() {
    const variant::LoadState state = base_.load_slot().state();
    EXPECT_LE(state.loaded_size, model_.base->size_bytes());
    const auto current = base_.load_slot().current();
    if (!current) {
      EXPECT_EQ(state.loaded_size, 0U);
      EXPECT_EQ(state.loaded_uuid, Fingerprint());
      EXPECT_TRUE(state.backup.empty());
      EXPECT_TRUE(state.weight_functions.empty());
    }
    for (const std::string& key : state.backup) EXPECT_TRUE(current->description().is_patched(key)) << key;
    for (const auto& [key, count] : state.weight_functions) EXPECT_TRUE(current->description().is_patched(key)) << key;
  }

  // After a failure, with nothing in use any more.
  void expect_recovered() {
    plan_->disarm();
    expect_consistent_slot();
    EXPECT_TRUE(same_bits(run(base_), wanted_[0]));
    for (size_t i = 0; i < 4; ++i) patcher(i).unpatch_model();
    EXPECT_EQ(residents().num_leases(), 0U);
    EXPECT_EQ(residents().held_bytes(), 0U);
    EXPECT_EQ(base_.load_slot().state().loaded_size, 0U);
    EXPECT_TRUE(base_.load_slot().state().object_patches_backup.empty());
    EXPECT_FALSE(both_.is_injected());
    EXPECT_EQ(model_.base->content_fingerprint(), content_);
  }

  // Calls `work` with a failure at its point 0, 1, 2, ... up to the last; after the first hundred at every `stride`th one.
  void at_each_point(int64_t stride, const std::function<void()>& work) {
    plan_->disarm();
    work();
    const int64_t points = plan_->calls();
    expect_recovered();
    int64_t failures = 0, tried = 0;
    for (int64_t at = 0; at < points && !HasFailure(); at += at < 100 ? 1 : stride) {
      SCOPED_TRACE("point " + std::to_string(at) + " of " + std::to_string(points));
      runtime_->residents->trim(0);
      plan_->arm(at);
      ++tried;
      try {
        work();
      } catch (const std::exception&) {
        ++failures;
      }
      expect_recovered();
    }
    // Some points are in places whose failure is to be survived: leaving, fetching ahead.
    EXPECT_GT(failures, tried / 2) << tried << " tried";
  }

  const TinyModel model_ = tiny_model(TinySize::one_level);
  const Fingerprint content_ = model_.base->content_fingerprint();
  const std::shared_ptr<FaultPlan> plan_ = std::make_shared<FaultPlan>();
  const std::shared_ptr<const variant::Runtime> runtime_ = runtime_with(budget(), GetParam().mode, GetParam().residency);
  ModelPatcher base_{model_.base, runtime_, DType::f32};
  ModelPatcher a_ = base_, b_ = base_, both_ = base_;
  std::array<Tensor, 4> wanted_;
};

INSTANTIATE_TEST_SUITE_P(All, VariantFaults, ::testing::ValuesIn(kSetups), [](const auto& test) { return std::string(test.param.name); });

TEST_P(VariantFaults, APatchModelThatFailsLeavesNothingLoaded) {
  at_each_point(1, [&] {
    try {
      both_.patch_model();
      both_.unpatch_model();
      both_.partially_load(both_.model_size() / 2);
      both_.partially_load(both_.model_size());
      both_.unpatch_model();
    } catch (...) {
      EXPECT_EQ(both_.load_slot().current(), nullptr);
      EXPECT_EQ(residents().num_leases(), 0U);
      EXPECT_FALSE(both_.is_injected());
      EXPECT_TRUE(both_.load_slot().state().object_patches_backup.empty());
      throw;
    }
  });
}

TEST_P(VariantFaults, AFailureAtAnyPointOfARunLeavesTheBaseAsItWas) {
  at_each_point(9, [&] { use(both_, wanted_[3]); });
}

TEST_P(VariantFaults, TwoHundredCyclesInAnyOrderWithFailuresLeaveTheBaseAsItWas) {
  std::mt19937 random(7);
  const auto below = [&](int64_t count) { return static_cast<int64_t>(random() % static_cast<uint64_t>(count)); };
  int failures = 0;
  for (int cycle = 0; cycle < 200; ++cycle) {
    SCOPED_TRACE("cycle " + std::to_string(cycle));
    plan_->arm(below(4) == 0 ? -1 : below(400));
    std::vector<std::unique_ptr<variant::ModelView>> views;
    try {
      for (int i = 0; i < 5; ++i) step(static_cast<size_t>(below(4)), below(8), views);
      const auto which = static_cast<size_t>(below(4));
      EXPECT_TRUE(same_bits(run(patcher(which)), wanted_[which]));
    } catch (const std::exception&) {
      ++failures;
    }
    views.clear();
    std::array<size_t, 4> order = {0, 1, 2, 3};
    std::shuffle(order.begin(), order.end(), random);
    for (const size_t i : order) {
      try {
        patcher(i).detach();
      } catch (const std::exception&) {
        ++failures;
      }
    }
    expect_recovered();
    if (HasFailure()) return;
  }
  EXPECT_GT(failures, 20);
}

}  // namespace
}  // namespace veneer::testing

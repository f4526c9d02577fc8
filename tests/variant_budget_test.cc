// Whatever of a variant is in memory, and however its patches get there: the same latents, every patch applied, the budget kept.
#include <gtest/gtest.h>

#include <functional>

#include "support/random_adapters.h"
#include "support/tiny_model.h"

namespace veneer::testing {
namespace {

using residency::ResidentSet;
using variant::LoraApplyMode;
using variant::ModelPatcher;
using variant::ResidencyMode;

constexpr int kShares[] = {0, 25, 50, 75, 100};  // percent of what the variant takes when all of it is resident

struct Adapters {
  std::vector<std::pair<Patches, double>> list;  // with strengths
};

struct Case {
  const char* name;
  Adapters (*make)(const variant::BaseModel& base);
};

Adapters stack_of_three(const variant::BaseModel& base) {
  const auto attention = [](std::string_view key) { return key.find("attn") != std::string_view::npos; };
  return {{{random_adapter(base, AdapterKind::lora, 1), 0.8},
           {random_adapter(base, AdapterKind::lora, 2, attention), -0.5},
           {random_adapter(base, AdapterKind::lora, 3), 0.3}}};
}

const Case kCases[] = {
    {"Base", [](const variant::BaseModel&) { return Adapters{}; }},
    {"OneLora",
     [](const variant::BaseModel& base) {
       return Adapters{{{random_adapter(base, AdapterKind::lora, 1), 0.8}}};
     }},
    {"LoraStack", stack_of_three},
    {"DoraAndLoha",
     [](const variant::BaseModel& base) {
       return Adapters{{{random_adapter(base, AdapterKind::dora, 4), 0.7}, {random_adapter(base, AdapterKind::loha, 5), 0.6}}};
     }},
    {"BiasesAndNorms",
     [](const variant::BaseModel& base) {
       return Adapters{{{random_adapter(base, AdapterKind::diff, 6), 1.0}}};
     }},
    {"OtherShapes",
     [](const variant::BaseModel& base) {
       return Adapters{
           {{grown_feed_forward(base, 7), 1.0},
            {random_adapter(base, AdapterKind::lora, 8, [](std::string_view key) { return key.find("ff.net") == std::string_view::npos; }), 0.5}}};
     }},
};

class VariantBudget : public ::testing::TestWithParam<Case> {
 protected:
  static const TinyModel& model() {
    static const TinyModel kModel = tiny_model();
    return kModel;
  }

  // A variant whose patches note where they were applied.
  ModelPatcher variant(size_t budget, LoraApplyMode mode, ResidencyMode residency) {
    ModelPatcher out(model().base, runtime_with(budget, mode, residency), DType::f32);
    for (const auto& [patches, strength] : adapters_.list) out.add_patches(counted(patches, layers_, mode == LoraApplyMode::branch), strength);
    return out;
  }

  static ResidentSet& residents(const ModelPatcher& patcher) { return *patcher.runtime().residents; }

  // With every module resident.
  void measure(LoraApplyMode mode) {
    const ModelPatcher whole = variant(ResidentSet::kUnlimited, mode, ResidencyMode::classic);
    latents_ = sample_latents(model(), whole);
    packed_ = residents(whole).size_bytes();
    largest_ = largest_module(residents(whole));
    EXPECT_EQ(layers_->take(), patched_keys());
  }

  std::set<std::string> patched_keys() const {
    std::set<std::string> keys;
    for (const auto& [patches, strength] : adapters_.list) {
      for (const auto& [key, value] : patches) keys.insert(key);
    }
    return keys;
  }

  void expect_the_same(const ModelPatcher& patcher, const std::function<void(ModelPatcher&)>& prepare = {}) {
    ModelPatcher mine = patcher;
    residents(mine).reset_peak();
    if (prepare) prepare(mine);
    EXPECT_TRUE(same_bits(sample_latents(model(), mine), latents_));
    EXPECT_EQ(layers_->take(), patched_keys());
    if (residents(mine).budget_bytes() != ResidentSet::kUnlimited) {
      EXPECT_LE(residents(mine).peak_bytes(), residents(mine).budget_bytes() + largest_);
    }
    mine.unpatch_model();
    EXPECT_EQ(residents(mine).num_leases(), 0U);
    EXPECT_LE(residents(mine).size_bytes(), residents(mine).budget_bytes());
  }

  Adapters adapters_ = GetParam().make(*model().base);
  std::shared_ptr<AppliedLayers> layers_ = std::make_shared<AppliedLayers>();
  Tensor latents_;
  size_t packed_ = 0, largest_ = 0;
};

INSTANTIATE_TEST_SUITE_P(All, VariantBudget, ::testing::ValuesIn(kCases), [](const auto& test) { return std::string(test.param.name); });

TEST_P(VariantBudget, LatentsAndPatchedLayersAreTheSameInEveryBudget) {
  measure(LoraApplyMode::materialised);
  for (const LoraApplyMode mode : {LoraApplyMode::materialised, LoraApplyMode::on_demand, LoraApplyMode::automatic}) {
    for (const ResidencyMode residency : {ResidencyMode::classic, ResidencyMode::dynamic}) {
      for (const int share : kShares) {
        SCOPED_TRACE(std::string(to_string(mode)) + " " + std::string(to_string(residency)) + " " + std::to_string(share) + "%");
        expect_the_same(variant(packed_ * static_cast<size_t>(share) / 100, mode, residency));
      }
    }
  }
}

TEST_P(VariantBudget, WhateverIsLoadedBetweenRunsLatentsAreTheSame) {
  measure(LoraApplyMode::materialised);
  for (const ResidencyMode residency : {ResidencyMode::classic, ResidencyMode::dynamic}) {
    for (const int share : kShares) {
      const size_t stored = model().base->size_bytes() * static_cast<size_t>(share) / 100;
      for (const size_t budget : {ResidentSet::kUnlimited, packed_ / 2}) {
        for (const bool force : {false, true}) {
          SCOPED_TRACE(std::string(to_string(residency)) + " " + std::to_string(share) + "% loaded, budget " + std::to_string(budget));
          const auto load = [&](ModelPatcher& patcher) {
            patcher.load({.budget = stored, .force_patch_weights = force});
            const variant::LoadState state = patcher.load_slot().state();
            EXPECT_EQ(state.backup.size() + state.weight_functions.size(), patched_keys().size());
            EXPECT_LE(state.loaded_size, std::max(stored, size_t{1}));
          };
          expect_the_same(variant(budget, LoraApplyMode::materialised, residency), load);
        }
      }
    }
  }
}

TEST_P(VariantBudget, SideBranchesAreNearMaterialisedAndTheSameInEveryBudget) {
  const ModelPatcher materialised = variant(ResidentSet::kUnlimited, LoraApplyMode::materialised, ResidencyMode::classic);
  const ModelPatcher beside = variant(ResidentSet::kUnlimited, LoraApplyMode::branch, ResidencyMode::classic);
  EXPECT_LE(relative_distance(evaluate(model(), *beside.open_view()), evaluate(model(), *materialised.open_view())), 1e-4);
  layers_->take();
  measure(LoraApplyMode::branch);
  for (const ResidencyMode residency : {ResidencyMode::classic, ResidencyMode::dynamic}) {
    for (const int share : kShares) {
      SCOPED_TRACE(std::string(to_string(residency)) + " " + std::to_string(share) + "%");
      expect_the_same(variant(packed_ * static_cast<size_t>(share) / 100, LoraApplyMode::branch, residency));
    }
  }
}

}  // namespace
}  // namespace veneer::testing

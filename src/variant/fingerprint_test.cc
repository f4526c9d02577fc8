// Everything that can change a forward is in a variant's fingerprint, and nothing else.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "variant/testing/small_network.h"

namespace veneer::variant {
namespace {

using Setter = std::function<void(ModelPatcher&, const testing::SmallNetwork&)>;
using sampling::GuidanceCall;

// A function that is told apart by `id`, and returns what it gets first.
template <typename Function>
Function identified(uint64_t id) {
  Function out;
  out.id = {7, id};
  return out;
}

// Calls a setter with such a function, and `false` for what else it takes.
template <typename Function, typename... Rest>
Setter setter(void (ModelPatcher::*set)(Function, Rest...), uint64_t id) {
  return [=](ModelPatcher& p, const testing::SmallNetwork&) { (p.*set)(identified<Function>(id), Rest{}...); };
}

template <typename Function>
Setter replacer(void (ModelPatcher::*set)(const BlockPosition&, Function), const BlockPosition& position, uint64_t id) {
  return [=](ModelPatcher& p, const testing::SmallNetwork&) { (p.*set)(position, identified<Function>(id)); };
}

struct Change {
  const char* name;
  Setter set;
};

std::vector<Change> patch_changes() {
  using Network = testing::SmallNetwork;
  return {
      {"patches", [](ModelPatcher& p, const Network& n) { p.add_patches(n.lora(1), 1); }},
      {"strength", [](ModelPatcher& p, const Network& n) { p.add_patches(n.lora(1), 0.999); }},
      {"strength of the model", [](ModelPatcher& p, const Network& n) { p.add_patches(n.lora(1), 1, 0.999); }},
      {"other content", [](ModelPatcher& p, const Network& n) { p.add_patches(n.lora(2), 1); }},
      {"twice",
       [](ModelPatcher& p, const Network& n) {
         p.add_patches(n.lora(1), 1);
         p.add_patches(n.lora(1), 1);
       }},
      {"one order",
       [](ModelPatcher& p, const Network& n) {
         p.add_patches(n.lora(1), 1);
         p.add_patches(n.lora(2), 1);
       }},
      {"the other order",
       [](ModelPatcher& p, const Network& n) {
         p.add_patches(n.lora(2), 1);
         p.add_patches(n.lora(1), 1);
       }},
      {"a hook", [](ModelPatcher& p, const Network& n) { p.add_hook_patches(n.lora(1), 1); }},
      {"a slice",
       [](ModelPatcher& p, const Network& n) {
         const std::vector<PatchEntry> entries = {{.key = "mid.bias", .value = n.differences(1).at("mid.bias"), .offset = patch::Offset{0, 0, 96}}};
         p.add_patches(entries);
       }},
      {"a function",
       [](ModelPatcher& p, const Network& n) {
         const std::vector<PatchEntry> entries = {
             {.key = "mid.bias", .value = n.differences(1).at("mid.bias"), .function = patch::WeightFunction{"negate", {}}}};
         p.add_patches(entries);
       }},
      {"neither",
       [](ModelPatcher& p, const Network& n) {
         p.add_patches({{"mid.bias", n.differences(1).at("mid.bias")}}, 1);
       }},
      {"a weight wrapper",
       [](ModelPatcher& p, const Network&) {
         p.add_weight_wrapper("mid.weight", {{7, 1}, {}});
       }},
      {"another",
       [](ModelPatcher& p, const Network&) {
         p.add_weight_wrapper("mid.weight", {{7, 2}, {}});
       }},
      {"elsewhere",
       [](ModelPatcher& p, const Network&) {
         p.add_weight_wrapper("mid.bias", {{7, 1}, {}});
       }},
      {"compute dtype", [](ModelPatcher& p, const Network&) { p.set_model_compute_dtype(DType::bf16); }},
      {"an object",
       [](ModelPatcher& p, const Network&) {
         p.add_object_patch("x", ModelObject::of(Fingerprint{7, 1}, std::make_shared<const int>(1)));
       }},
      {"another object",
       [](ModelPatcher& p, const Network&) {
         p.add_object_patch("x", ModelObject::of(Fingerprint{7, 2}, std::make_shared<const int>(1)));
       }},
      {"an object elsewhere",
       [](ModelPatcher& p, const Network&) {
         p.add_object_patch("y", ModelObject::of(Fingerprint{7, 1}, std::make_shared<const int>(1)));
       }},
  };
}

std::vector<Change> option_changes() {
  return {
      {"cfg", setter(&ModelPatcher::set_model_sampler_cfg_function, 1)},
      {"another cfg", setter(&ModelPatcher::set_model_sampler_cfg_function, 2)},
      {"cfg without the shortcut",
       [](ModelPatcher& p, const testing::SmallNetwork&) {
         p.set_model_sampler_cfg_function(identified<sampling::Hook<Tensor(const GuidanceCall&)>>(1), true);
       }},
      {"pre cfg", setter(&ModelPatcher::set_model_sampler_pre_cfg_function, 1)},
      {"post cfg", setter(&ModelPatcher::set_model_sampler_post_cfg_function, 1)},
      {"calc cond batch", setter(&ModelPatcher::set_model_sampler_calc_cond_batch_function, 1)},
      {"unet wrapper", setter(&ModelPatcher::set_model_unet_function_wrapper, 1)},
      {"denoise mask", setter(&ModelPatcher::set_model_denoise_mask_function, 1)},
      {"attn1", setter(&ModelPatcher::set_model_attn1_patch, 1)},
      {"another attn1", setter(&ModelPatcher::set_model_attn1_patch, 2)},
      {"attn2", setter(&ModelPatcher::set_model_attn2_patch, 1)},
      {"attn1 output", setter(&ModelPatcher::set_model_attn1_output_patch, 1)},
      {"attn2 output", setter(&ModelPatcher::set_model_attn2_output_patch, 1)},
      {"attn1 replaced", replacer(&ModelPatcher::set_model_attn1_replace, {"input", 1, 0}, 1)},
      {"in another block", replacer(&ModelPatcher::set_model_attn1_replace, {"input", 2, 0}, 1)},
      {"in all of a block", replacer(&ModelPatcher::set_model_attn1_replace, {"input", 1, -1}, 1)},
      {"attn2 replaced", replacer(&ModelPatcher::set_model_attn2_replace, {"input", 1, 0}, 1)},
      {"input block", setter(&ModelPatcher::set_model_input_block_patch, 1)},
      {"after the skip", setter(&ModelPatcher::set_model_input_block_patch_after_skip, 1)},
      {"output block", setter(&ModelPatcher::set_model_output_block_patch, 1)},
      {"middle", setter(&ModelPatcher::set_model_middle_patch, 1)},
      {"emb", setter(&ModelPatcher::set_model_emb_patch, 1)},
      {"network wrapper",
       [](ModelPatcher& p, const testing::SmallNetwork&) {
         p.add_wrapper("a", {{7, 1}, {}});
       }},
      {"network wrapper under another key",
       [](ModelPatcher& p, const testing::SmallNetwork&) {
         p.add_wrapper("b", {{7, 1}, {}});
       }},
      {"injections", [](ModelPatcher& p, const testing::SmallNetwork&) { p.set_injections("a", std::vector<Injection>(1)); }},
      {"additional models", [](ModelPatcher& p, const testing::SmallNetwork&) { p.set_additional_models("a", {ModelPatcher(p)}); }},
  };
}

class VariantFingerprint : public ::testing::Test {
 protected:
  void expect_all_apart(const std::vector<Change>& changes) {
    std::map<Fingerprint, std::string> seen = {{base_.fingerprint(), "the base"}};
    for (const Change& change : changes) {
      ModelPatcher patcher = base_.clone();
      change.set(patcher, network_);
      const auto [other, is_new] = seen.emplace(patcher.fingerprint(), change.name);
      EXPECT_TRUE(is_new) << change.name << " is like " << other->second;
      EXPECT_FALSE(patcher.clone_has_same_weights(base_)) << change.name;
      // The same from another object, with values of their own.
      ModelPatcher again(network_.base, testing::runtime_with(0), DType::f32);
      change.set(again, testing::SmallNetwork());
      EXPECT_EQ(again.fingerprint(), patcher.fingerprint()) << change.name;
      EXPECT_TRUE(again.clone_has_same_weights(patcher)) << change.name;
    }
  }

  const testing::SmallNetwork network_;
  const ModelPatcher base_{network_.base, testing::runtime_with(residency::ResidentSet::kUnlimited), DType::f32};
};

TEST_F(VariantFingerprint, EveryPatchChangesItAndEqualPatchesAreEqual) { expect_all_apart(patch_changes()); }

TEST_F(VariantFingerprint, EveryOptionChangesItAndEqualOptionsAreEqual) { expect_all_apart(option_changes()); }

TEST_F(VariantFingerprint, WhatChangesNoForwardIsNotInIt) {
  ModelPatcher patcher = base_.clone();
  patcher.set_attachment("a", 1);
  patcher.add_callback(CallbackPoint::on_load, "a", [](ModelPatcher&, ModelPatcher*) {});
  patcher.add_patches({{"no such weight", network_.lora(1).begin()->second}}, 1);
  patcher.add_hook_patches(network_.lora(1), 0);
  EXPECT_EQ(patcher.add_patches(network_.lora(1), 0), base_.clone().add_patches(network_.lora(1), 1)) << "the keys are known, if not used";
  EXPECT_EQ(patcher.add_patches(std::vector<PatchEntry>{{.key = "mid.bias", .value = network_.differences(1).at("mid.bias")}}, 0),
            std::vector<bool>{true});
  EXPECT_TRUE(patcher.patches().empty());
  EXPECT_EQ(patcher.fingerprint(), base_.fingerprint());
  EXPECT_NE(base_.clone({.force_deepcopy = true}).fingerprint(), base_.fingerprint());
}

// The reference's "set" replaces a weight at strength 0 too.
TEST_F(VariantFingerprint, StrengthZeroCountsInTheReferencesWay) {
  Runtime runtime = base_.runtime();
  runtime.compat = patch::PatchCompat::reference;
  const ModelPatcher reference(network_.base, std::make_shared<const Runtime>(runtime), DType::f32);
  ModelPatcher patcher = reference.clone();
  patcher.add_patches(network_.lora(1), 0);
  EXPECT_NE(patcher.fingerprint(), reference.fingerprint());
}

TEST_F(VariantFingerprint, OfAWeightCoversThatWeightAlone) {
  ModelPatcher patcher = base_.clone();
  patcher.add_patches({{"mid.weight", network_.lora(1).at("mid.weight")}}, 1);
  EXPECT_NE(patcher.weight_fingerprint("mid.weight"), base_.weight_fingerprint("mid.weight"));
  for (const auto& [key, weight] : network_.base->weights()) {
    if (key != "mid.weight") {
      EXPECT_EQ(patcher.weight_fingerprint(key), base_.weight_fingerprint(key)) << key;
    }
  }
}

}  // namespace
}  // namespace veneer::variant

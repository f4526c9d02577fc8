// What extensions attach to a variant: in which order it is called, and that it is undone.
#include "variant/lifecycle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "variant/testing/small_network.h"

namespace veneer::variant {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Lifecycle : public ::testing::Test {
 protected:
  Callback notes(const std::string& what) {
    return [this, what](ModelPatcher&, ModelPatcher*) { log_.push_back(what); };
  }
  Callback fails(const std::string& what) {
    return [this, what](ModelPatcher&, ModelPatcher*) {
      log_.push_back(what);
      throw std::runtime_error(what);
    };
  }
  Injection injection(const std::string& name) { return {notes("+" + name), notes("-" + name)}; }
  std::vector<std::string> take_log() { return std::exchange(log_, {}); }

  const testing::SmallNetwork network_;
  ModelPatcher patcher_{network_.base, testing::runtime_with(residency::ResidentSet::kUnlimited), DType::f32};
  std::vector<std::string> log_;
};

TEST_F(Lifecycle, CallbacksRunByKeyThenAsAddedAtTheirPointOnly) {
  patcher_.add_callback(CallbackPoint::on_load, "b", notes("b1"));
  patcher_.add_callback(CallbackPoint::on_load, "a", notes("a1"));
  patcher_.add_callback(CallbackPoint::on_load, "b", notes("b2"));
  patcher_.add_callback(CallbackPoint::on_pre_run, "a", notes("pre"));
  patcher_.add_callback(CallbackPoint::on_cleanup, "a", notes("cleanup"));
  patcher_.add_callback(CallbackPoint::on_detach, "a", notes("detach"));
  patcher_.load();
  EXPECT_THAT(take_log(), ElementsAre("a1", "b1", "b2"));
  patcher_.pre_run();
  patcher_.cleanup();
  patcher_.detach();
  EXPECT_THAT(take_log(), ElementsAre("pre", "cleanup", "detach"));
  ModelPatcher clone = patcher_.clone();
  clone.partially_load(clone.model_size());
  EXPECT_THAT(take_log(), ElementsAre("a1", "b1", "b2"));
}

TEST_F(Lifecycle, ACallbackThatFailsEndsTheRound) {
  patcher_.add_callback(CallbackPoint::on_pre_run, "a", notes("1"));
  patcher_.add_callback(CallbackPoint::on_pre_run, "b", fails("2"));
  patcher_.add_callback(CallbackPoint::on_pre_run, "c", notes("3"));
  EXPECT_THROW(patcher_.pre_run(), std::runtime_error);
  EXPECT_THAT(take_log(), ElementsAre("1", "2"));
}

TEST_F(Lifecycle, CallbacksMayAddCallbacks) {
  patcher_.add_callback(CallbackPoint::on_pre_run, "a", [this](ModelPatcher& patcher, ModelPatcher*) {
    log_.push_back("first");
    patcher.add_callback(CallbackPoint::on_pre_run, "a", notes("second"));
  });
  patcher_.pre_run();
  EXPECT_THAT(take_log(), ElementsAre("first"));
  patcher_.pre_run();
  EXPECT_THAT(take_log(), ElementsAre("first", "second"));
}

TEST_F(Lifecycle, OnCloneSeesTheOriginalAndMayChangeTheClone) {
  const Fingerprint original = patcher_.identity();
  patcher_.add_callback(CallbackPoint::on_clone, "a", [&](ModelPatcher& from, ModelPatcher* clone) {
    EXPECT_EQ(from.identity(), original);
    ASSERT_NE(clone, nullptr);
    EXPECT_EQ(clone->parent(), original);
    clone->set_attachment("made by", std::string("on_clone"));
    from.set_attachment("lost", 1);
  });
  const ModelPatcher clone = patcher_.clone();
  EXPECT_EQ(std::any_cast<std::string>(clone.get_attachment("made by")), "on_clone");
  EXPECT_FALSE(patcher_.get_attachment("made by").has_value());
  EXPECT_FALSE(patcher_.get_attachment("lost").has_value());
}

TEST_F(Lifecycle, InjectionsAreEnteredInOrderAndLeftInReverse) {
  patcher_.set_injections("b", {injection("b1"), injection("b2")});
  patcher_.set_injections("a", {injection("a1")});
  patcher_.add_callback(CallbackPoint::on_inject_model, "x", notes("injected"));
  patcher_.add_callback(CallbackPoint::on_eject_model, "x", notes("ejected"));
  patcher_.patch_model();
  EXPECT_TRUE(patcher_.is_injected());
  patcher_.patch_model();  // once is enough
  EXPECT_THAT(take_log(), ElementsAre("+a1", "+b1", "+b2", "injected"));
  patcher_.unpatch_model();
  EXPECT_FALSE(patcher_.is_injected());
  patcher_.unpatch_model();
  EXPECT_THAT(take_log(), ElementsAre("-b2", "-b1", "-a1", "ejected"));
}

TEST_F(Lifecycle, AnInjectionThatFailsLeavesThoseBeforeIt) {
  patcher_.set_injections("a", {injection("1"), injection("2"), {fails("+3"), notes("-3")}, injection("4")});
  EXPECT_THROW(patcher_.patch_model(), std::runtime_error);
  EXPECT_THAT(take_log(), ElementsAre("+1", "+2", "+3", "-2", "-1"));
  EXPECT_FALSE(patcher_.is_injected());
  EXPECT_EQ(patcher_.loaded_size(), 0U);
}

TEST_F(Lifecycle, AFailureInLeavingLeavesTheOthersToo) {
  patcher_.set_injections("a", {injection("1"), {notes("+2"), fails("-2")}, injection("3")});
  patcher_.add_callback(CallbackPoint::on_eject_model, "x", fails("ejected"));
  patcher_.patch_model();
  take_log();
  EXPECT_NO_THROW(patcher_.unpatch_model());
  EXPECT_THAT(take_log(), ElementsAre("-3", "-2", "-1", "ejected"));
  EXPECT_EQ(patcher_.loaded_size(), 0U);
}

// The model is in the state that the old ones made; nobody else knows how to undo it.
TEST_F(Lifecycle, WhatWasEnteredIsLeftEvenIfOtherInjectionsWereSetMeanwhile) {
  patcher_.set_injections("a", {injection("old")});
  patcher_.inject_model();
  patcher_.set_injections("a", {injection("new")});
  patcher_.set_injections("b", {injection("more")});
  patcher_.eject_model();
  EXPECT_THAT(take_log(), ElementsAre("+old", "-old"));
  patcher_.inject_model();
  patcher_.remove_injections("a");
  patcher_.remove_injections("b");
  patcher_.eject_model();
  EXPECT_THAT(take_log(), ElementsAre("+new", "+more", "-more", "-new"));
}

TEST_F(Lifecycle, ACloneOfAnInjectedPatcherIsNotInjected) {
  patcher_.set_injections("a", {injection("1")});
  patcher_.inject_model();
  ModelPatcher clone = patcher_.clone();
  EXPECT_FALSE(clone.is_injected());
  clone.eject_model();
  EXPECT_THAT(take_log(), ElementsAre("+1"));
  patcher_.eject_model();
  EXPECT_THAT(take_log(), ElementsAre("-1"));
}

TEST_F(Lifecycle, AttachmentsTravelWithClonesAndTheirNamesCount) {
  patcher_.set_attachment("name", 1);
  ModelPatcher clone = patcher_.clone();
  EXPECT_EQ(std::any_cast<int>(clone.get_attachment("name")), 1);
  EXPECT_TRUE(clone.clone_has_same_weights(patcher_));
  clone.set_attachment("name", 2);
  EXPECT_EQ(std::any_cast<int>(patcher_.get_attachment("name")), 1);
  EXPECT_TRUE(clone.clone_has_same_weights(patcher_));
  clone.set_attachment("other", 3);
  EXPECT_FALSE(clone.clone_has_same_weights(patcher_));
  clone.remove_attachment("other");
  EXPECT_TRUE(clone.clone_has_same_weights(patcher_));
  EXPECT_FALSE(clone.get_attachment("other").has_value());
}

TEST_F(Lifecycle, AdditionalModelsAreClonedWithTheirModel) {
  const testing::SmallNetwork other(9);
  const testing::SmallNetwork third(10);
  ModelPatcher beside(other.base, testing::runtime_with(0), DType::f32);
  beside.set_additional_models("inner", {ModelPatcher(third.base, testing::runtime_with(0), DType::f32)});
  patcher_.set_additional_models("key", {beside, beside.clone()});
  const ModelPatcher clone = patcher_.clone();
  ASSERT_EQ(clone.get_additional_models("key").size(), 2U);
  EXPECT_EQ(clone.get_additional_models("key")[0].parent(), beside.identity());
  EXPECT_TRUE(clone.get_additional_models("key")[0].is_clone(beside));
  EXPECT_TRUE(clone.clone_has_same_weights(patcher_));
  EXPECT_EQ(clone.get_nested_additional_models().size(), 4U);
  ModelPatcher changed = patcher_.clone();
  beside.add_patches(other.lora(1), 1);
  changed.set_additional_models("key", {beside});
  EXPECT_FALSE(changed.clone_has_same_weights(patcher_));
  changed.remove_additional_models("key");
  EXPECT_THAT(changed.get_nested_additional_models(), IsEmpty());
  EXPECT_EQ(patcher_.get_additional_models("key").size(), 2U);
}

TEST_F(Lifecycle, TheFirstWrapperIsTheOutermost) {
  const auto wrapper = [&](const std::string& name) {
    return NetworkWrapper{{1, 1}, [this, name](const sampling::Network& next, const sampling::NetworkInput& input) {
                            log_.push_back("+" + name);
                            Tensor out = next(input);
                            log_.push_back("-" + name);
                            return out;
                          }};
  };
  patcher_.add_wrapper("b", wrapper("b1"));
  patcher_.add_wrapper("b", wrapper("b2"));
  patcher_.add_wrapper("a", wrapper("a1"));
  const sampling::Network network = [&](const sampling::NetworkInput& input) {
    log_.push_back("network");
    return input.x;
  };
  sampling::NetworkInput input;
  input.x = Tensor::zeros({1, 1, 1, 1}, DType::f32);
  wrap(network, patcher_.wrappers())(input);
  EXPECT_THAT(take_log(), ElementsAre("+a1", "+b1", "+b2", "network", "-b2", "-b1", "-a1"));
  patcher_.remove_wrappers("b");
  wrap(network, patcher_.wrappers())(input);
  EXPECT_THAT(take_log(), ElementsAre("+a1", "network", "-a1"));
}

}  // namespace
}  // namespace veneer::variant

// Several threads on variants of one base, over one resident set. To be run under ThreadSanitizer too.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "base/parallel.h"
#include "variant/testing/small_network.h"

namespace veneer::variant {
namespace {

using residency::ResidentSet;

struct Setup {
  const char* name;
  LoraApplyMode mode;
  ResidencyMode residency;
  size_t budget;
};

const Setup kSetups[] = {
    {"Materialised", LoraApplyMode::materialised, ResidencyMode::classic, ResidentSet::kUnlimited},
    {"MaterialisedInLittle", LoraApplyMode::materialised, ResidencyMode::classic, 120'000},
    {"MaterialisedInNothing", LoraApplyMode::materialised, ResidencyMode::classic, 0},
    {"DynamicInLittle", LoraApplyMode::materialised, ResidencyMode::dynamic, 120'000},
    {"BranchInLittle", LoraApplyMode::branch, ResidencyMode::classic, 120'000},
    {"OnDemandDynamic", LoraApplyMode::on_demand, ResidencyMode::dynamic, 120'000},
};

class Concurrency : public ::testing::TestWithParam<Setup> {
 protected:
  static constexpr int kRounds = 12;

  Concurrency() {
    a_.add_patches(network_.lora(1), 0.8);
    b_.add_patches(network_.lora(2), -0.5);
    b_.add_patches(network_.differences(3), 1);
    base_alone_ = network_.run(alone(base_));
    a_alone_ = network_.run(alone(a_));
    b_alone_ = network_.run(alone(b_));
    EXPECT_NE(a_alone_, b_alone_);
  }

  ~Concurrency() override {
    EXPECT_EQ(residents().num_leases(), 0U);
    EXPECT_LE(residents().size_bytes(), residents().budget_bytes());
    EXPECT_EQ(network_.base->content_fingerprint(), content_);
  }

  const ResidentSet& residents() const { return *runtime_->residents; }

  // The same variant in a resident set of its own.
  ModelPatcher alone(const ModelPatcher& patcher) const {
    ModelPatcher out(network_.base, testing::runtime_with(ResidentSet::kUnlimited, GetParam().mode), DType::f32);
    for (const auto& [key, records] : patcher.patches()) {
      for (const patch::PatchRecord& record : *records) out.add_patches({{key, record.value}}, record.strength_patch, record.strength_model);
    }
    return out;
  }

  // Runs all of them at once, each on a thread of its own; what one throws fails the test.
  static void at_once(const std::vector<std::function<void()>>& bodies) {
    std::atomic<size_t> ready{0};
    std::vector<std::thread> threads;
    threads.reserve(bodies.size());
    for (const auto& body : bodies) {
      threads.emplace_back([&, body] {
        set_num_threads(1);
        ++ready;
        while (ready < bodies.size()) std::this_thread::yield();
        try {
          body();
        } catch (const std::exception& error) {
          ADD_FAILURE() << error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  // Runs a variant again and again.
  std::function<void()> runs(const ModelPatcher& patcher, const std::vector<float>& wanted) const {
    return [&] {
      for (int round = 0; round < kRounds; ++round) EXPECT_EQ(network_.run(patcher), wanted) << round;
    };
  }

  const testing::SmallNetwork network_;
  const Fingerprint content_ = network_.base->content_fingerprint();
  const std::shared_ptr<const Runtime> runtime_ = testing::runtime_with(GetParam().budget, GetParam().mode, GetParam().residency);
  ModelPatcher base_{network_.base, runtime_, DType::f32};
  ModelPatcher a_ = base_.clone(), b_ = base_.clone();
  std::vector<float> base_alone_, a_alone_, b_alone_;
};

INSTANTIATE_TEST_SUITE_P(All, Concurrency, ::testing::ValuesIn(kSetups), [](const auto& test) { return std::string(test.param.name); });

TEST_P(Concurrency, DifferentVariantsOfOneBaseAreAsAlone) { at_once({runs(a_, a_alone_), runs(b_, b_alone_), runs(base_, base_alone_)}); }

TEST_P(Concurrency, TheSameVariantTwiceIsAsAlone) {
  at_once({runs(a_, a_alone_), runs(a_, a_alone_)});
  // And through one loaded variant.
  a_.load();
  at_once({runs(a_, a_alone_), runs(a_, a_alone_)});
  a_.unpatch_model();
}

TEST_P(Concurrency, OneViewEachForManyRunsIsAsAlone) {
  const auto many = [&](const ModelPatcher& patcher, const std::vector<float>& wanted) {
    return [&] {
      const auto view = patcher.open_view();
      for (int round = 0; round < kRounds; ++round) EXPECT_EQ(network_.run(*view), wanted) << round;
    };
  };
  at_once({many(a_, a_alone_), many(b_, b_alone_), many(a_, a_alone_)});
}

TEST_P(Concurrency, ClonesMayBePatchedWhileOthersRun) {
  const auto clones = [&](double strength) {
    return [&, strength] {
      for (int round = 0; round < kRounds; ++round) {
        ModelPatcher mine = a_.clone();
        mine.add_patches(network_.lora(2), strength);
        mine.add_object_patch("name", ModelObject::of(Fingerprint{1, 2}, std::make_shared<const int>(round)));
        mine.set_attachment("name", round);
        ModelPatcher back = base_.clone();
        back.add_patches(network_.lora(1), 0.8);
        EXPECT_NE(mine.fingerprint(), a_.fingerprint());
        EXPECT_TRUE(back.clone_has_same_weights(a_));
        EXPECT_EQ(network_.run(back), a_alone_);
      }
    };
  };
  at_once({clones(0.25), clones(0.5), runs(a_, a_alone_)});
}

TEST_P(Concurrency, LoadingAndUnloadingDoesNotReachRunningViews) {
  const auto loads = [&](const ModelPatcher& patcher) {
    return [&] {
      ModelPatcher mine = patcher.clone();
      for (int round = 0; round < kRounds; ++round) {
        mine.load();
        mine.partially_unload(mine.model_size() / 3);
        mine.partially_load(mine.model_size() / 4);
        const LoadState state = mine.load_slot().state();
        EXPECT_LE(state.loaded_size, mine.model_size());
        mine.load({.budget = mine.model_size() / 2, .force_patch_weights = true});
        mine.model_state_dict("mid");
        if (round % 2 == 0) mine.unpatch_model();
      }
    };
  };
  at_once({loads(a_), loads(b_), runs(a_, a_alone_), runs(b_, b_alone_)});
  a_.unpatch_model();
}

TEST_P(Concurrency, TheAccountMayBeReadWhileVariantsRun) {
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop) {
      for (const auto& entry : residents().account()) EXPECT_FALSE(entry.label.empty());
      runtime_->residents->size_bytes();
      runtime_->residents->trim(1000);
    }
  });
  at_once({runs(a_, a_alone_), runs(b_, b_alone_)});
  stop = true;
  reader.join();
}

}  // namespace
}  // namespace veneer::variant

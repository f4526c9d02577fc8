#include "sampling/conditioning.h"

#include <gmock/gmock.h>

#include <functional>
#include <set>

#include "sampling/test_network.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(Conditioning, AverageCutsLongerAndFillsShorterWithZeros) {
  EXPECT_THAT(values(average({paint(1, 1)}, {paint(3, 2)}, 0.25)[0].context), ElementsAre(2.5, 2.5));
  EXPECT_THAT(values(average({paint(1, 2)}, {paint(3, 1)}, 0.25)[0].context), ElementsAre(2.5, 2.5, 0.25, 0.25));
}

TEST(Conditioning, AverageMixesPooledVectors) {
  ConditioningEntry to = paint(0);
  ConditioningEntry from = paint(0);
  from.pooled = filled(Shape{1, 2}, 4);
  EXPECT_THAT(values(average({to}, {from}, 0.25)[0].pooled), Each(4));  // none of its own: the other's
  to.pooled = filled(Shape{1, 2}, 8);
  EXPECT_THAT(values(average({to}, {from}, 0.25)[0].pooled), Each(5));
  EXPECT_THAT(values(average({to}, {paint(0)}, 0.25)[0].pooled), Each(8));
}

TEST(Conditioning, ConcatAppendsTokensOfTheFirstEntry) {
  const Conditioning out = concat({paint(1, 1), paint(2, 1)}, {paint(5, 2), paint(6, 2)});
  EXPECT_THAT(values(out[0].context), ElementsAre(1, 1, 5, 5, 5, 5));
  EXPECT_THAT(values(out[1].context), ElementsAre(2, 2, 5, 5, 5, 5));
}

TEST(Conditioning, MixingNeedsAnEntryOfTheSameWidth) {
  ConditioningEntry wide;
  wide.context = filled(Shape{1, 1, 3}, 0);
  EXPECT_THROW(average({paint(1)}, {}, 0.5), Error);
  EXPECT_THROW(concat({paint(1)}, {wide}), Error);
  EXPECT_THROW(average({paint(1)}, {ConditioningEntry{}}, 0.5), Error);
}

TEST(Conditioning, ZeroOutClearsBothTensorsAndNotTheOriginal) {
  ConditioningEntry entry = paint(1);
  entry.pooled = filled(Shape{1, 2}, 1);
  const Conditioning out = zero_out({entry});
  EXPECT_THAT(values(out[0].context), Each(0));
  EXPECT_THAT(values(out[0].pooled), Each(0));
  EXPECT_THAT(values(entry.context), Each(1));
}

class NamedControl final : public Control {
 public:
  explicit NamedControl(const char* name) : name_(name) {}
  Fingerprint fingerprint() const override { return FingerprintBuilder().add(name_).finish(); }

 private:
  const char* name_;
};

class NamedHooks final : public CondHooks {
 public:
  explicit NamedHooks(const char* name) : name_(name) {}
  Fingerprint fingerprint() const override { return FingerprintBuilder().add("hooks").add(name_).finish(); }

 private:
  const char* name_;
};

TEST(Conditioning, EveryFieldEntersTheFingerprint) {
  const std::vector<std::function<void(ConditioningEntry&)>> changes = {
      [](auto&) {},
      [](auto& e) {
        e.context = filled(Shape{1, 3, 2}, 2);
      },
      [](auto& e) {
        e.context = filled(Shape{1, 2, 3}, 1);
      },
      [](auto& e) {
        e.pooled = filled(Shape{1, 1}, 0);
      },
      [](auto& e) {
        e.area = Box{0, 0, 1, 1};
      },
      [](auto& e) { e.area = FractionalBox{}; },
      [](auto& e) { e.strength = 0.5; },
      [](auto& e) {
        e.mask = filled(Shape{1, 1, 1}, 1);
      },
      [](auto& e) { e.mask_strength = 0.5; },
      [](auto& e) { e.set_area_to_bounds = true; },
      [](auto& e) { e.start_percent = 0.5; },
      [](auto& e) { e.end_percent = 0.5; },
      [](auto& e) { e.clip_start_percent = 0.5; },
      [](auto& e) { e.clip_end_percent = 0.5; },
      [](auto& e) { e.is_default = true; },
      [](auto& e) { e.hooks = std::make_shared<NamedHooks>("a"); },
      [](auto& e) { e.hooks = std::make_shared<NamedHooks>("b"); },
      [](auto& e) { e.control = std::make_shared<NamedControl>("a"); },
      [](auto& e) { e.control = std::make_shared<NamedControl>("b"); },
      [](auto& e) { e.control_apply_to_uncond = true; },
      [](auto& e) {
        e.extra_channels = filled(Shape{1, 1, 1, 1}, 0);
      },
  };
  std::set<Fingerprint> seen;
  for (const auto& change : changes) {
    ConditioningEntry entry = paint(1);
    change(entry);
    EXPECT_TRUE(seen.insert(fingerprint({entry})).second);
  }
  EXPECT_TRUE(seen.contains(fingerprint({paint(1)})));  // equal contents, other bytes
  EXPECT_TRUE(seen.insert(fingerprint({paint(1), paint(1)})).second);
  EXPECT_TRUE(seen.insert(fingerprint({})).second);
}

}  // namespace
}  // namespace veneer::sampling

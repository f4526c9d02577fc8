#include "residency/pinned_memory.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

namespace veneer::residency {
namespace {

// Refuses after `limit` bytes, as RLIMIT_MEMLOCK does.
struct LimitedLocker final : PinnedMemory::Locker {
  explicit LimitedLocker(size_t bytes) : limit(bytes) {}
  bool lock(const void*, size_t size) override {
    if (locked + size > limit) {
      errno = ENOMEM;
      return false;
    }
    locked += size;
    return true;
  }
  void unlock(const void*, size_t size) noexcept override { locked -= size; }
  size_t limit;
  size_t locked = 0;
};

constexpr size_t kMiB = 1 << 20;

class PinnedMemoryTest : public ::testing::Test {
 protected:
  std::shared_ptr<PinnedMemory> make(size_t budget, size_t limit) {
    auto locker = std::make_unique<LimitedLocker>(limit);
    locker_ = locker.get();
    return std::make_shared<PinnedMemory>(budget, std::move(locker));
  }
  std::span<const std::byte> part(size_t index, size_t size) { return {memory_.data() + index * kMiB, size}; }
  std::vector<std::byte> memory_ = std::vector<std::byte>(8 * kMiB);
  LimitedLocker* locker_ = nullptr;
};

TEST_F(PinnedMemoryTest, LocksWholePagesAndLetsGo) {
  const auto pinned = make(4 * kMiB, 8 * kMiB);
  {
    const auto pin = pinned->pin(part(0, 10'000));
    EXPECT_TRUE(static_cast<bool>(pin));
    EXPECT_GT(locker_->locked, 0U);
    EXPECT_LE(locker_->locked, 10'000U);
    EXPECT_EQ(locker_->locked % 4096, 0U);
    const auto again = pinned->pin(part(0, 10'000));
    EXPECT_TRUE(static_cast<bool>(again));
    EXPECT_EQ(pinned->size_bytes(), locker_->locked);
  }
  EXPECT_EQ(locker_->locked, 0U);
  EXPECT_EQ(pinned->size_bytes(), 0U);
}

TEST_F(PinnedMemoryTest, LeavesPagesAloneThatNeighboursShare) {
  const auto pinned = make(8 * kMiB, 8 * kMiB);
  const auto first = pinned->pin({memory_.data() + 100, 20'000});
  {
    const auto second = pinned->pin({memory_.data() + 20'100, 20'000});
    EXPECT_LE(pinned->size_bytes(), 40'000U);
  }
  EXPECT_EQ(pinned->size_bytes(), locker_->locked);
  EXPECT_FALSE(static_cast<bool>(pinned->pin({memory_.data() + 1, 100})));
}

TEST_F(PinnedMemoryTest, StaysWithinItsBudgetInSilence) {
  const auto pinned = make(kMiB, 8 * kMiB);
  EXPECT_FALSE(static_cast<bool>(pinned->pin(part(0, 2 * kMiB))));
  EXPECT_EQ(pinned->notice(), "");
}

TEST_F(PinnedMemoryTest, ARefusalLeavesPagesPageableAndNamesPinnedMemory) {
  const auto pinned = make(8 * kMiB, kMiB);
  EXPECT_FALSE(static_cast<bool>(pinned->pin(part(0, 2 * kMiB))));
  EXPECT_NE(pinned->notice().find("host pinned memory"), std::string::npos);
  EXPECT_FALSE(static_cast<bool>(pinned->pin(part(3, kMiB / 2))));  // and it is not tried again
  EXPECT_EQ(pinned->size_bytes(), 0U);
}

TEST_F(PinnedMemoryTest, PinsMayOutliveTheirOwnersHandle) {
  auto pinned = make(8 * kMiB, 8 * kMiB);
  PinnedMemory::Pin pin = pinned->pin(part(0, kMiB));
  pinned.reset();
  pin.reset();
  EXPECT_FALSE(static_cast<bool>(pin));
}

}  // namespace
}  // namespace veneer::residency

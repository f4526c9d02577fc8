#include "residency/resident_set.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace veneer::residency {
namespace {

struct Block final : Resident {
  explicit Block(size_t size) : bytes(size) {}
  size_t size_bytes() const override { return bytes; }
  size_t bytes;
};

Fingerprint key(uint64_t n) { return {0, n}; }

class ResidentSetTest : public ::testing::Test {
 protected:
  ResidentRequest ask(uint64_t n, size_t bytes, Keep keep) const {
    return {.key = key(n), .owner = owner_, .owner_name = "test", .label = "block", .expected_bytes = bytes, .keep = keep};
  }
  Lease get(ResidentSet& set, uint64_t n, size_t bytes = 10, Keep keep = Keep::hold) {
    return set.acquire(ask(n, bytes, keep), [&] {
      ++builds_;
      return std::make_shared<Block>(bytes);
    });
  }
  std::shared_ptr<int> owner_ = std::make_shared<int>(0);
  int builds_ = 0;
};

TEST_F(ResidentSetTest, BuildsOnceAndShares) {
  ResidentSet set;
  const Lease a = get(set, 1);
  const Lease b = get(set, 1);
  EXPECT_EQ(builds_, 1);
  EXPECT_EQ(a.get(), b.get());
  EXPECT_EQ(set.num_leases(), 2U);
}

TEST_F(ResidentSetTest, EvictsTheLeastRecentlyUsedThatNoLeaseHolds) {
  ResidentSet set(25);
  Lease pinned = get(set, 1);
  get(set, 2).reset();
  get(set, 3).reset();  // 30 bytes: entry 2 has to go, entry 1 is older but pinned
  EXPECT_TRUE(set.contains(key(1)));
  EXPECT_FALSE(set.contains(key(2)));
  EXPECT_TRUE(set.contains(key(3)));
  EXPECT_LE(set.peak_bytes(), 25U);
}

TEST_F(ResidentSetTest, GrantsLeasesThatLastOnlyWithinTheBudget) {
  ResidentSet set(25);
  const Lease a = get(set, 1);
  const Lease b = get(set, 2);
  EXPECT_TRUE(a.held());
  EXPECT_TRUE(b.held());
  EXPECT_EQ(set.available_bytes(), 5U);
  {
    const Lease c = get(set, 3);
    EXPECT_FALSE(c.held());
    EXPECT_EQ(set.size_bytes(), 30U);  // the budget and one that is made for a moment
    const Lease again = get(set, 1);
    EXPECT_TRUE(again.held());  // it is held already: nothing more
  }
  EXPECT_FALSE(set.contains(key(3)));
  EXPECT_EQ(set.held_bytes(), 20U);
  EXPECT_EQ(set.peak_bytes(), 30U);
}

TEST_F(ResidentSetTest, MakesRoomBeforeItBuilds) {
  ResidentSet set(30);
  get(set, 1, 15).reset();
  get(set, 2, 15).reset();
  (void)set.acquire(ask(3, 20, Keep::cache), [&] {
    EXPECT_LE(set.size_bytes(), 30U);  // with what is to come
    EXPECT_FALSE(set.contains(key(1)));
    return std::make_shared<Block>(20);
  });
  EXPECT_LE(set.peak_bytes(), 35U);
}

TEST_F(ResidentSetTest, WhatIsToBeDiscardedGoesWithItsLastLease) {
  ResidentSet set;
  Lease a = get(set, 1, 10, Keep::discard);
  const Lease b = get(set, 1, 10, Keep::cache);
  a.reset();
  EXPECT_TRUE(set.contains(key(1)));
  get(set, 2, 10, Keep::discard).reset();
  EXPECT_FALSE(set.contains(key(2)));
}

TEST_F(ResidentSetTest, ASmallerBudgetEvictsAtOnceWhatNobodyHolds) {
  ResidentSet set(100);
  const Lease a = get(set, 1, 40);
  get(set, 2, 40).reset();
  set.set_budget(50);
  EXPECT_EQ(set.size_bytes(), 40U);
  EXPECT_EQ(set.available_bytes(), 10U);
}

TEST_F(ResidentSetTest, CountsWhatWasBuilt) {
  ResidentSet set;
  get(set, 1, 10).reset();
  get(set, 1, 10).reset();
  get(set, 2, 7).reset();
  EXPECT_EQ(set.num_builds(), 2U);
  EXPECT_EQ(set.built_bytes(), 17U);
  EXPECT_FALSE(static_cast<bool>(set.find(key(3), Keep::cache)));
  EXPECT_TRUE(static_cast<bool>(set.find(key(2), Keep::cache)));
}

TEST_F(ResidentSetTest, DropsEntriesOfExpiredOwnersFirst) {
  ResidentSet set;
  get(set, 1).reset();
  owner_ = std::make_shared<int>(1);
  get(set, 2).reset();
  EXPECT_FALSE(set.contains(key(1)));  // when something else is built
  owner_ = std::make_shared<int>(2);
  EXPECT_EQ(set.trim(ResidentSet::kUnlimited), 10U);  // or when it is asked for
  EXPECT_FALSE(set.contains(key(2)));
}

TEST_F(ResidentSetTest, AFailedBuildLeavesNoEntryAndCanBeTriedAgain) {
  ResidentSet set;
  EXPECT_THROW((void)set.acquire(ask(1, 10, Keep::hold), []() -> std::shared_ptr<const Resident> { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_FALSE(set.contains(key(1)));
  EXPECT_TRUE(static_cast<bool>(get(set, 1)));
}

TEST_F(ResidentSetTest, MovedAndAssignedLeasesReleaseOnce) {
  ResidentSet set;
  Lease a = get(set, 1);
  Lease b = std::move(a);
  EXPECT_FALSE(static_cast<bool>(a));  // NOLINT(bugprone-use-after-move): the moved-from state is what is tested
  b = get(set, 2);
  EXPECT_EQ(set.num_leases(), 1U);
  b.reset();
  EXPECT_EQ(set.num_leases(), 0U);
}

TEST_F(ResidentSetTest, WhatWasMadeOfADisownedFileGoesAtOnceOrWithItsLastLease) {
  ResidentSet set;
  const auto make = [&](uint64_t n, std::vector<std::string> sources) {
    ResidentRequest request = ask(n, 10, Keep::cache);
    request.sources = std::move(sources);
    return set.acquire(request, [] { return std::make_shared<Block>(10); });
  };
  make(1, {"a"}).reset();
  make(2, {"b", "a"}).reset();
  make(3, {"b"}).reset();
  make(4, {}).reset();
  Lease used = make(5, {"a"});
  const std::vector<std::string> gone = {"a"};
  EXPECT_EQ(set.disown(gone), 20U);
  EXPECT_TRUE(set.contains(key(3)) && set.contains(key(4)) && set.contains(key(5)));
  EXPECT_FALSE(set.contains(key(1)) || set.contains(key(2)));
  used.reset();
  EXPECT_FALSE(set.contains(key(5)));
  EXPECT_EQ(set.size_bytes(), 20U);
  make(1, {"a"}).reset();
  EXPECT_TRUE(set.contains(key(1))) << "what is made from now on is of the new content";
}

TEST_F(ResidentSetTest, LeasesMayOutliveTheSet) {
  Lease lease;
  {
    ResidentSet set;
    lease = get(set, 1, 7);
  }
  EXPECT_EQ(lease.get()->size_bytes(), 7U);
}

TEST_F(ResidentSetTest, ConcurrentRequestsForOneKeyBuildOnce) {
  ResidentSet set;
  std::atomic<int> builds = 0;
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (uint64_t n = 0; n < 50; ++n) {
        const Lease lease = set.acquire(ask(n, 1, Keep::hold), [&] {
          ++builds;
          return std::make_shared<Block>(1);
        });
        EXPECT_EQ(lease.get()->size_bytes(), 1U);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(builds.load(), 50);
  EXPECT_EQ(set.num_leases(), 0U);
}

}  // namespace
}  // namespace veneer::residency

#include "residency/page_in.h"

#include <gtest/gtest.h>

#include "residency/testing/untouched_pages.h"

namespace veneer::residency {
namespace {

TEST(PageIn, LooksAtEveryPageOfItsBytesAndAtNoOther) {
  const testing::UntouchedPages memory(64 * 4096);
  ASSERT_TRUE(memory.ok());
  ASSERT_EQ(memory.num_touched(), 0U);
  page_in({});
  EXPECT_EQ(memory.num_touched(), 0U);
  // From within the second page to within the fourth.
  page_in(memory.bytes().subspan(4096 + 100, 2 * 4096));
  const size_t page = memory.bytes().size() / memory.num_pages();
  EXPECT_EQ(memory.num_touched(), (4096 + 100 + 2 * 4096 - 1) / page - (4096 + 100) / page + 1);
  page_in(memory.bytes());
  EXPECT_EQ(memory.num_touched(), memory.num_pages());
}

}  // namespace
}  // namespace veneer::residency

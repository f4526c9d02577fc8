#include "base/edit_distance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace veneer {
namespace {

size_t edit_distance(std::string_view a, std::string_view b, size_t most) { return EditDistance(a).to(b, most); }

TEST(EditDistance, CountsEditsAndIgnoresCase) {
  EXPECT_EQ(edit_distance("kitten", "sitting", 9), 3u);
  EXPECT_EQ(edit_distance("", "abc", 9), 3u);
  EXPECT_EQ(edit_distance("abc", "", 9), 3u);
  EXPECT_EQ(edit_distance("Model.SAFETENSORS", "model.safetensors", 9), 0u);
}

// The table of distances in plain words.
size_t plain_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> table(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        table[i][j] = i + j;
      } else {
        table[i][j] = std::min({table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), table[i - 1][j] + 1, table[i][j - 1] + 1});
      }
    }
  }
  return table[a.size()][b.size()];
}

TEST(EditDistance, IsThatOfTheTableForTextsOfAnyLength) {
  uint32_t state = 1;
  const auto next = [&](uint32_t below) {
    state = state * 1664525U + 1013904223U;
    return (state >> 16) % below;
  };
  for (int round = 0; round < 400; ++round) {
    std::string a(next(200), 'x'), b;
    for (char& c : a) c = static_cast<char>('a' + next(4));
    for (const char c : a) {  // a few edits of the other one
      const uint32_t what = next(8);
      if (what != 0) b += what == 1 ? static_cast<char>('a' + next(4)) : c;
      if (what == 2) b += static_cast<char>('a' + next(4));
    }
    const size_t want = plain_distance(a, b);
    EXPECT_EQ(edit_distance(a, b, 1000), want) << a << " " << b;
    EXPECT_EQ(edit_distance(a, b, want), want) << a << " " << b;
    if (want > 0) {
      EXPECT_EQ(edit_distance(a, b, want - 1), want) << a << " " << b;
    }
  }
}

TEST(EditDistance, StopsAtTheBound) {
  EXPECT_EQ(edit_distance("aaaaaaaa", "bbbbbbbb", 3), 4u);
  EXPECT_EQ(edit_distance("a", "abcdefgh", 3), 4u);
  EXPECT_EQ(edit_distance("kitten", "sitting", 3), 3u);
}

}  // namespace
}  // namespace veneer

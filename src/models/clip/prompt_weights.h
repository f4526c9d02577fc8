// Emphasis in prompts: "(word)", "((word))", "(word:1.3)".
//
// Each level of parentheses multiplies the weight by 1.1. A number behind the last ':' inside of a level replaces the weight instead, unless the ':'
// is the level's first character. "\(" and "\)" are plain characters. A parenthesis that is never closed stays text; one that closes nothing makes
// the next opening one plain as well. Brackets have no meaning.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace veneer::models {

struct WeightedSegment {
  std::string text;  // escapes resolved, never empty
  double weight = 1;
  bool operator==(const WeightedSegment&) const = default;
};

// The prompt's stretches of equal weight in order. Takes linear time and no recursion, whatever the nesting. Throws Error(invalid) for more than 128
// MiB.
std::vector<WeightedSegment> parse_prompt_weights(std::string_view prompt);

}  // namespace veneer::models

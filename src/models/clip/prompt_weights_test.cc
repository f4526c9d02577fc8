#include "models/clip/prompt_weights.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "models/clip/python_float.h"

namespace veneer::models {

void PrintTo(const WeightedSegment& segment, std::ostream* out) { *out << '"' << segment.text << "\" x " << segment.weight; }

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Segments = std::vector<WeightedSegment>;

// The rules by recursion over copies of the text, without regard for time.
Segments parse_slowly(const std::string& text, double weight) {
  Segments out;
  const auto piece = [&](const std::string& part) {
    if (part.empty()) return;
    if (part.size() < 2 || part.front() != '(' || part.back() != ')') {
      out.push_back({part, weight});
      return;
    }
    std::string inner = part.substr(1, part.size() - 2);
    double inner_weight = weight * 1.1;
    const size_t colon = inner.rfind(':');
    if (colon != std::string::npos && colon > 0) {
      if (const auto number = parse_python_float(inner.substr(colon + 1))) {
        inner_weight = *number;
        inner.resize(colon);
      }
    }
    for (const WeightedSegment& segment : parse_slowly(inner, inner_weight)) out.push_back(segment);
  };
  std::string current;
  int depth = 0;
  for (const char c : text) {
    if (c == '(' && depth == 0) {
      piece(current);
      current.clear();
    }
    current += c;
    if (c == '(') ++depth;
    if (c == ')' && --depth == 0) {
      piece(current);
      current.clear();
    }
  }
  piece(current);
  return out;
}

bool same(const Segments& a, const Segments& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const bool equal = a[i].weight == b[i].weight || (std::isnan(a[i].weight) && std::isnan(b[i].weight));
    if (a[i].text != b[i].text || !equal) return false;
  }
  return true;
}

TEST(PromptWeights, MultipliesByLevel) {
  EXPECT_THAT(parse_prompt_weights("x (a) ((b))"),
              ElementsAre(WeightedSegment{"x ", 1.0}, WeightedSegment{"a", 1.1}, WeightedSegment{" ", 1.0}, WeightedSegment{"b", 1.1 * 1.1}));
}

TEST(PromptWeights, ReplacesByTheNumberBehindTheLastColon) {
  EXPECT_THAT(parse_prompt_weights("(a:b:1.4)"), ElementsAre(WeightedSegment{"a:b", 1.4}));
  EXPECT_THAT(parse_prompt_weights("((a:1.3) b:0.7)"), ElementsAre(WeightedSegment{"a", 1.3}, WeightedSegment{" b", 0.7}));
  EXPECT_THAT(parse_prompt_weights("((a) b:0.5)"), ElementsAre(WeightedSegment{"a", 0.5 * 1.1}, WeightedSegment{" b", 0.5}));
}

TEST(PromptWeights, NeedsTextBeforeTheColonAndANumberBehindIt) {
  EXPECT_THAT(parse_prompt_weights("(:1.5)"), ElementsAre(WeightedSegment{":1.5", 1.1}));
  EXPECT_THAT(parse_prompt_weights("(a:)"), ElementsAre(WeightedSegment{"a:", 1.1}));
  EXPECT_THAT(parse_prompt_weights("(a:1,5)"), ElementsAre(WeightedSegment{"a:1,5", 1.1}));
  EXPECT_THAT(parse_prompt_weights("(a:1.5 (b))"), ElementsAre(WeightedSegment{"a:1.5 ", 1.1}, WeightedSegment{"b", 1.1 * 1.1}));
}

TEST(PromptWeights, TakesNegativeAndZeroWeights) {
  EXPECT_THAT(parse_prompt_weights("(a:0)(b:-1)"), ElementsAre(WeightedSegment{"a", 0.0}, WeightedSegment{"b", -1.0}));
}

TEST(PromptWeights, LeavesUnclosedParenthesesAsText) {
  EXPECT_THAT(parse_prompt_weights("(a:1.3"), ElementsAre(WeightedSegment{"(a:1.3", 1.0}));
  EXPECT_THAT(parse_prompt_weights("x (a"), ElementsAre(WeightedSegment{"x ", 1.0}, WeightedSegment{"(a", 1.0}));
}

TEST(PromptWeights, TreatsAnUnclosedStretchThatEndsWithAParenthesisAsALevel) {
  EXPECT_THAT(parse_prompt_weights("((a)"), ElementsAre(WeightedSegment{"(a", 1.1}));
  EXPECT_THAT(parse_prompt_weights("(((a:2)"), ElementsAre(WeightedSegment{"((a", 2.0}));
}

TEST(PromptWeights, LeavesClosingParenthesesWithoutAPartnerAsText) {
  EXPECT_THAT(parse_prompt_weights("a:1.3)"), ElementsAre(WeightedSegment{"a:1.3)", 1.0}));
  EXPECT_THAT(parse_prompt_weights(")("), ElementsAre(WeightedSegment{")(", 1.0}));
  EXPECT_THAT(parse_prompt_weights(")(a)"), ElementsAre(WeightedSegment{")(a)", 1.0}));
  EXPECT_THAT(parse_prompt_weights(")((a)"), ElementsAre(WeightedSegment{")(", 1.0}, WeightedSegment{"a", 1.1}));
}

TEST(PromptWeights, ReadsEscapedParenthesesAsText) {
  EXPECT_THAT(parse_prompt_weights("\\(a\\)"), ElementsAre(WeightedSegment{"(a)", 1.0}));
  EXPECT_THAT(parse_prompt_weights("(\\(a\\):1.2)"), ElementsAre(WeightedSegment{"(a)", 1.2}));
  EXPECT_THAT(parse_prompt_weights("(a\\)"), ElementsAre(WeightedSegment{"(a)", 1.0}));
  EXPECT_THAT(parse_prompt_weights("a\\"), ElementsAre(WeightedSegment{"a\\", 1.0}));
  EXPECT_THAT(parse_prompt_weights("\\\\(a"), ElementsAre(WeightedSegment{"\\(a", 1.0}));
}

TEST(PromptWeights, DoesNotMistakeStrayBytesForEscapes) {
  EXPECT_THAT(parse_prompt_weights("a\xFE\xFF"), ElementsAre(WeightedSegment{"a\xEF\xBF\xBD\xEF\xBF\xBD", 1.0}));
}

TEST(PromptWeights, GivesNothingForEmptyLevels) {
  EXPECT_THAT(parse_prompt_weights(""), IsEmpty());
  EXPECT_THAT(parse_prompt_weights("()"), IsEmpty());
  EXPECT_THAT(parse_prompt_weights("((()))"), IsEmpty());
}

TEST(PromptWeights, AgreesWithTheRulesAppliedByRecursion) {
  const std::vector<std::string> parts = {"(", "(", ")", ")", ":", "1", ".5", "a", " ", "inf", "-2"};
  std::mt19937 random(11);  // NOLINT: the same prompts on every run
  for (int round = 0; round < 30000; ++round) {
    std::string prompt;
    for (auto left = random() % 17; left > 0; --left) prompt += parts[random() % parts.size()];
    ASSERT_TRUE(same(parse_prompt_weights(prompt), parse_slowly(prompt, 1.0))) << prompt;
  }
}

TEST(PromptWeights, TakesDeepNesting) {
  // Recursion would overflow the stack and looking around at each level would take 10^11 steps.
  const size_t depth = 500000;
  const Segments segments = parse_prompt_weights(std::string(depth, '(') + "a:2" + std::string(depth, ')'));
  ASSERT_EQ(segments.size(), 1U);
  EXPECT_EQ(segments[0].text, "a");
  EXPECT_EQ(segments[0].weight, 2.0);
}

TEST(PromptWeights, TakesDeepNestingThatIsNeverClosed) {
  const size_t depth = 300000;
  const Segments segments = parse_prompt_weights(std::string(2 * depth, '(') + "a" + std::string(depth, ')'));
  ASSERT_EQ(segments.size(), 1U);
  EXPECT_EQ(segments[0].text, std::string(depth, '(') + "a");
  EXPECT_EQ(segments[0].weight, HUGE_VAL);
}

TEST(PromptWeights, TakesColonsAndDigitsInDeepNesting) {
  std::string prompt;
  for (int i = 0; i < 200000; ++i) prompt += "(a:1";
  const Segments segments = parse_prompt_weights(prompt + std::string(200000, ')'));
  ASSERT_EQ(segments.size(), 200000U);
  EXPECT_EQ(segments.back().text, "a");
  EXPECT_EQ(segments.back().weight, 1.0);
  EXPECT_EQ(segments.front().text, "a:1");
}

}  // namespace
}  // namespace veneer::models

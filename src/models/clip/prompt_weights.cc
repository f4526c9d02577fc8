#include "models/clip/prompt_weights.h"

#include <cstdint>
#include <optional>

#include "models/clip/python_float.h"
#include "veneer/error.h"

namespace veneer::models {
namespace {

constexpr size_t kMaxBytes = 128UL << 20;
constexpr double kEmphasis = 1.1;
// Bytes that UTF-8 never uses stand for escaped parentheses while the others are matched.
constexpr char kEscapedOpen = '\xFE';
constexpr char kEscapedClose = '\xFF';
constexpr uint32_t kNone = UINT32_MAX;

std::string protect_escapes(std::string_view prompt) {
  std::string out;
  out.reserve(prompt.size());
  for (size_t i = 0; i < prompt.size(); ++i) {
    const char c = prompt[i];
    const char following = i + 1 < prompt.size() ? prompt[i + 1] : '\0';
    if (c == '\\' && (following == '(' || following == ')')) {
      out += following == '(' ? kEscapedOpen : kEscapedClose;
      ++i;
    } else if (c == kEscapedOpen || c == kEscapedClose) {
      out += "\xEF\xBF\xBD";  // no UTF-8: U+FFFD, as any other such byte will be
    } else {
      out += c;
    }
  }
  return out;
}

std::string resolve_escapes(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c == kEscapedOpen) c = '(';
    if (c == kEscapedClose) c = ')';
  }
  return out;
}

// What the parser must know of a place without looking around.
struct Marks {
  std::vector<uint32_t> closing;       // for a '(' that opens a level: its ')', or the text's size when there is none; kNone for other characters
  std::vector<uint32_t> last_special;  // [i]: the last of "(:)" before i; kNone when there is none
};

Marks mark(std::string_view text) {
  Marks marks;
  marks.closing.assign(text.size(), kNone);
  marks.last_special.assign(text.size() + 1, kNone);
  std::vector<uint32_t> open;
  size_t surplus = 0;  // closing parentheses that closed nothing
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool special = c == '(' || c == ')' || c == ':';
    marks.last_special[i + 1] = special ? static_cast<uint32_t>(i) : marks.last_special[i];
    if (c == '(' && surplus > 0) {
      --surplus;
    } else if (c == '(') {
      marks.closing[i] = static_cast<uint32_t>(text.size());
      open.push_back(static_cast<uint32_t>(i));
    } else if (c == ')' && open.empty()) {
      ++surplus;
    } else if (c == ')') {
      marks.closing[open.back()] = static_cast<uint32_t>(i);
      open.pop_back();
    }
  }
  return marks;
}

// A stretch of the text at one level, read up to `position`.
struct Level {
  uint32_t position;
  uint32_t end;
  double weight;
};

// The level inside of parentheses, `begin` and `end` excluding them, within a level of weight `outer`.
Level enter(std::string_view text, const Marks& marks, uint32_t begin, uint32_t end, double outer) {
  Level level{begin, end, outer * kEmphasis};
  const uint32_t colon = marks.last_special[end];
  // With a parenthesis between the last ':' and the end there is no number; a ':' that comes first does not count.
  if (colon == kNone || colon <= begin || text[colon] != ':') return level;
  if (const std::optional<double> weight = parse_python_float(text.substr(colon + 1, end - colon - 1))) {
    level.weight = *weight;
    level.end = colon;
  }
  return level;
}

}  // namespace

std::vector<WeightedSegment> parse_prompt_weights(std::string_view prompt) {
  if (prompt.size() > kMaxBytes) throw Error(ErrorCode::invalid, "prompt: text is too long", {{"bytes", std::to_string(prompt.size())}});
  const std::string text = protect_escapes(prompt);
  const Marks marks = mark(text);
  std::vector<WeightedSegment> out;
  const auto emit = [&](uint32_t begin, uint32_t end, double weight) {
    if (begin < end) out.push_back({resolve_escapes(std::string_view(text).substr(begin, end - begin)), weight});
  };

  std::vector<Level> levels = {{0, static_cast<uint32_t>(text.size()), 1.0}};
  while (!levels.empty()) {
    Level& level = levels.back();
    const uint32_t begin = level.position;
    uint32_t open = begin;
    while (open < level.end && marks.closing[open] == kNone) ++open;
    emit(begin, open, level.weight);
    if (open == level.end) {
      levels.pop_back();
      continue;
    }
    const bool closed = marks.closing[open] < level.end;
    // An unclosed stretch that happens to end with ')' counts as a level all the same, and that ')' closes nothing inside of it.
    const bool looks_closed = !closed && level.end - open >= 2 && text[level.end - 1] == ')';
    const double outer = level.weight;
    const uint32_t inner_end = closed ? marks.closing[open] : level.end - 1;
    if (!closed && !looks_closed) emit(open, level.end, outer);
    level.position = closed ? inner_end + 1 : level.end;
    if (closed || looks_closed) levels.push_back(enter(text, marks, open + 1, inner_end, outer));
  }
  return out;
}

}  // namespace veneer::models

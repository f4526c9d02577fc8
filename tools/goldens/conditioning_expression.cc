#include "conditioning_expression.h"

#include <cctype>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "sampling/mask_ops.h"
#include "veneer/error.h"

namespace veneer::goldens {
namespace {

using sampling::Conditioning;

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

Error unknown(std::string_view text) {
  return Error(ErrorCode::unsupported, "goldens: conditioning expression is not understood", {{"text", std::string(text)}});
}

// Arguments of a call. Each is taken by its name ("to=a", "w=7") or, without one, in order.
class Arguments {
 public:
  explicit Arguments(std::string_view list) {
    int depth = 0;
    size_t start = 0;
    for (size_t i = 0; i <= list.size(); ++i) {
      if (i < list.size() && list[i] == '(') ++depth;
      if (i < list.size() && list[i] == ')') --depth;
      if (i < list.size() && (list[i] != ',' || depth > 0)) continue;
      add(trimmed(list.substr(start, i - start)));
      start = i + 1;
    }
  }

  bool more() const { return next_ < positional_.size(); }
  std::string take() {
    if (!more()) throw unknown("an argument is missing");
    return positional_[next_++];
  }
  std::string take(const std::string& name) {
    const auto found = named_.find(name);
    return found == named_.end() ? take() : found->second;
  }
  double number(const std::string& name) { return std::stod(take(name)); }
  int64_t integer(const std::string& name) { return std::stoll(take(name)); }

 private:
  // "name=value", or several of them with spaces between, or a positional argument.
  void add(const std::string& argument) {
    size_t end = 0;
    while (end < argument.size() && (std::isalnum(static_cast<unsigned char>(argument[end])) != 0 || argument[end] == '_')) ++end;
    if (end == argument.size() || argument[end] != '=') {
      positional_.push_back(argument);
      return;
    }
    if (argument.find('(') != std::string::npos) {
      named_[argument.substr(0, end)] = argument.substr(end + 1);
      return;
    }
    std::istringstream words(argument);
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      if (equals == std::string::npos) throw unknown(argument);
      named_[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }

  std::vector<std::string> positional_;
  size_t next_ = 0;
  std::map<std::string, std::string> named_;
};

Tensor parse_mask(const Case& golden, const std::string& text) {
  return text.starts_with("1-") ? sampling::invert_mask(golden.input(text.substr(2))) : golden.input(text);
}

Conditioning call(const Case& golden, const std::string& name, Arguments arguments) {
  const auto list = [&](const std::string& text) { return parse_conditioning(golden, text); };
  if (name == "Combine") {
    Conditioning out = list(arguments.take());
    while (arguments.more()) out = sampling::combine(out, list(arguments.take()));
    return out;
  }
  if (name == "Average" || name == "Concat") {
    const Conditioning to = list(arguments.take("to"));
    const Conditioning from = list(arguments.take("from"));
    return name == "Concat" ? sampling::concat(to, from) : sampling::average(to, from, arguments.number("strength"));
  }
  const Conditioning of = list(arguments.take("conditioning"));
  if (name == "ZeroOut") return sampling::zero_out(of);
  if (name == "SetAreaStrength") return sampling::set_area_strength(of, arguments.number("s"));
  if (name == "SetArea") {
    const sampling::Box box{arguments.integer("y"), arguments.integer("x"), arguments.integer("h"), arguments.integer("w")};
    return sampling::set_area(of, box, arguments.number("s"));
  }
  if (name == "SetAreaPercentage") {
    const sampling::FractionalBox box{arguments.number("y"), arguments.number("x"), arguments.number("h"), arguments.number("w")};
    return sampling::set_area_percentage(of, box, arguments.number("s"));
  }
  if (name == "SetTimestepRange") {
    const double start = arguments.number("start");
    return sampling::set_timestep_range(of, start, arguments.number("end"));
  }
  if (name == "SetMask") {
    const Tensor mask = parse_mask(golden, arguments.take("mask"));
    const double strength = arguments.number("s");
    const std::string area = arguments.take("area");
    if (area != "default" && area != "mask bounds") throw unknown(area);
    return sampling::set_mask(of, mask, strength, area == "mask bounds");
  }
  throw unknown(name);
}

}  // namespace

Conditioning parse_conditioning(const Case& golden, std::string_view text) {
  const std::string expression = trimmed(text);
  const size_t open = expression.find('(');
  if (open == std::string::npos) return {sampling::ConditioningEntry{.context = golden.input(expression)}};
  if (expression.back() != ')') throw unknown(expression);
  return call(golden, expression.substr(0, open), Arguments(std::string_view(expression).substr(open + 1, expression.size() - open - 2)));
}

}  // namespace veneer::goldens

// Comparisons and arithmetic.
#include <algorithm>
#include <cmath>
#include <regex>

#include "nodes.h"

namespace testing_pack {
namespace {

vp::Node node(const std::string& name, std::string_view shown) { return vp::Node(name).display_name(shown).category("Testing/Logic"); }

template <typename T>
bool compare(const T& a, const T& b, std::string_view operation) {
  if (operation == "==") return a == b;
  if (operation == "!=") return a != b;
  if (operation == "<") return a < b;
  if (operation == ">") return a > b;
  return operation == "<=" ? a <= b : a >= b;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool matches(const std::string& text, const std::string& pattern) {
  try {
    return std::regex_search(text, std::regex(pattern), std::regex_constants::match_continuous);
  } catch (const std::regex_error&) {
    return false;
  }
}

void compare_texts(vp::Call& call) {
  std::string a(call.input("a").text());
  std::string b(call.input("b").text());
  if (!call.input("case_sensitive").boolean()) {
    a = lower(a);
    b = lower(b);
  }
  const std::string_view operation = call.input("operation").text();
  if (operation == "a == b") return call.output(a == b);
  if (operation == "a != b") return call.output(a != b);
  if (operation == "a IN b") return call.output(b.find(a) != std::string::npos);
  if (operation == "a MATCH REGEX(b)") return call.output(matches(a, b));
  call.output(operation == "a BEGINSWITH b" ? a.starts_with(b) : a.ends_with(b));
}

bool truth(const vp::Value& value) {
  switch (value.kind()) {
    case VENEER_KIND_NONE: return false;
    case VENEER_KIND_BOOLEAN:
    case VENEER_KIND_INTEGER:
    case VENEER_KIND_NUMBER: return value.boolean();
    case VENEER_KIND_TEXT: return !value.text().empty();
    case VENEER_KIND_LIST: return value.length() > 0;
    case VENEER_KIND_JSON: return value.json() != "null" && value.json() != "[]" && value.json() != "{}";
    case VENEER_KIND_TENSOR: return std::ranges::any_of(value.tensor().floats(), [](float each) { return each != 0; });
    default: return true;
  }
}

int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0) throw std::runtime_error("a negative power is no integer");
  int64_t result = 1;
  for (int64_t i = 0; i < exponent; ++i) {
    if (__builtin_mul_overflow(result, base, &result)) throw std::runtime_error("the result does not fit 64 bits");
    if (result == 0 || (base == 1 && i > 0)) break;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  }
  return result;
}

// Rounds down, as the remainder has the divisor's sign.
int64_t divide(int64_t a, int64_t b, bool remainder) {
  if (b == 0) throw std::runtime_error("division by zero");
  if (b == -1) {
    int64_t negated = 0;
    if (__builtin_sub_overflow(int64_t{0}, a, &negated)) throw std::runtime_error("the result does not fit 64 bits");
    return remainder ? 0 : negated;
  }
  const int64_t rest = a % b;
  const bool down = rest != 0 && (rest < 0) != (b < 0);
  if (remainder) return down ? rest + b : rest;
  return a / b - (down ? 1 : 0);
}

void calculate(vp::Call& call) {
  const int64_t a = call.input("a").integer();
  const int64_t b = call.input("b").integer();
  const std::string_view operation = call.input("operation").text();
  int64_t result = 0;
  bool too_large = false;
  if (operation == "add") {
    too_large = __builtin_add_overflow(a, b, &result);
  } else if (operation == "subtract") {
    too_large = __builtin_sub_overflow(a, b, &result);
  } else if (operation == "multiply") {
    too_large = __builtin_mul_overflow(a, b, &result);
  } else if (operation == "power") {
    result = power(a, b);
  } else {
    result = divide(a, b, operation == "modulo");
  }
  if (too_large) throw std::runtime_error("the result does not fit 64 bits");
  call.output(result);
}

vp::Input any_integer(const std::string& name) { return vp::integer(name, 0).range(-18446744073709551615.0, 18446744073709551615.0).step(1); }

vp::Input any_number(const std::string& name) { return vp::number(name, 0).range(-999999999999.0, 999999999999.0).step(1); }

}  // namespace

void add_logic(vp::Pack& pack) {
  const std::vector<std::string> comparisons = {"==", "!=", "<", ">", "<=", ">="};
  pack.add(
      node("TestIntConditions", "Int Condition")
          .inputs({any_integer("a"), any_integer("b"), vp::choice("operation", comparisons)})
          .output("BOOLEAN")
          .run([](vp::Call& call) { call.output(compare(call.input("a").integer(), call.input("b").integer(), call.input("operation").text())); }));
  pack.add(
      node("TestFloatConditions", "Float Condition")
          .inputs({any_number("a"), any_number("b"), vp::choice("operation", comparisons)})
          .output("BOOLEAN")
          .run([](vp::Call& call) { call.output(compare(call.input("a").number(), call.input("b").number(), call.input("operation").text())); }));
  pack.add(node("TestStringConditions", "String Condition")
               .inputs({vp::Input("a", "STRING").option("multiline", vp::Json(false)), vp::Input("b", "STRING").option("multiline", vp::Json(false)),
                        vp::choice("operation", {"a == b", "a != b", "a IN b", "a MATCH REGEX(b)", "a BEGINSWITH b", "a ENDSWITH b"}),
                        vp::boolean("case_sensitive", true)})
               .output("BOOLEAN")
               .run(compare_texts));
  pack.add(node("TestToBoolNode", "To Bool")
               .inputs({vp::socket("value", "*"), vp::boolean("invert", false).optional()})
               .output("BOOLEAN")
               .run([](vp::Call& call) {
                 const bool invert = call.has("invert") && call.input("invert").boolean();
                 call.output(truth(call.input("value")) != invert);
               }));
  pack.add(node("TestBoolOperationNode", "Bool Operation")
               .inputs({vp::Input("a", "BOOLEAN"), vp::Input("b", "BOOLEAN"), vp::choice("op", {"a AND b", "a OR b", "a XOR b", "NOT a"})})
               .output("BOOLEAN")
               .run([](vp::Call& call) {
                 const bool a = call.input("a").boolean();
                 const bool b = call.input("b").boolean();
                 const std::string_view op = call.input("op").text();
                 call.output(op == "a AND b" ? a && b : op == "a OR b" ? a || b : op == "a XOR b" ? a != b : !a);
               }));
  pack.add(node("TestIntMathOperation", "Int Math Operation")
               .inputs({any_integer("a"), any_integer("b"), vp::choice("operation", {"add", "subtract", "multiply", "divide", "modulo", "power"})})
               .output("INT")
               .run(calculate));
}

}  // namespace testing_pack

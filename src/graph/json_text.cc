#include "graph/json_text.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/python_text.h"
#include "veneer/error.h"

namespace veneer::graph {
namespace {

[[noreturn]] void refuse(const std::string& rule, size_t at) {
  throw Error(ErrorCode::invalid, "json: text is not valid", {{"rule", rule}, {"at", std::to_string(at)}});
}

// The bare words of Python's JSON are no tokens for the parser; they are handed to it as strings whose ordinals are remembered.
struct WordScan {
  std::string text;
  std::unordered_map<size_t, double> numbers;  // ordinal of a string token -> its value
};

WordScan replace_bare_words(std::string_view text) {
  WordScan scan;
  scan.text.reserve(text.size() + 64);
  size_t strings = 0;
  bool inside = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inside) {
      scan.text += c;
      if (c == '\\' && i + 1 < text.size()) scan.text += text[++i];
      inside = c != '"';
      continue;
    }
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const auto word = [&](std::string_view name, double value) {
      if (text.substr(i, name.size()) != name) return false;
      scan.numbers.emplace(strings++, value);
      scan.text += "\"\"";
      i += name.size() - 1;
      return true;
    };
    if (word("NaN", std::numeric_limits<double>::quiet_NaN()) || word("Infinity", kInfinity) || word("-Infinity", -kInfinity)) continue;
    if (c == '"') {
      inside = true;
      ++strings;
    }
    scan.text += c;
  }
  return scan;
}

// The vector under an ordered object: its own look-ups and insertions search linearly, which would make big objects quadratic.
using Members = std::vector<Json::object_t::value_type>;
Members& members(Json::object_t& object) { return object; }

// Keeps the last member of each name in the place of the first.
void remove_duplicates(Json::object_t& object) {
  const Members& all = members(object);
  std::unordered_map<std::string_view, size_t> last;
  for (size_t i = 0; i < all.size(); ++i) last[all[i].first] = i;
  if (last.size() == all.size()) return;
  Json::object_t kept;
  std::unordered_set<std::string_view> seen;
  for (const auto& [name, value] : all) {
    if (seen.insert(name).second) members(kept).emplace_back(name, all[last[name]].second);
  }
  object = std::move(kept);
}

// Builds the value while nlohmann's parser (which is iterative) reports its tokens.
class Builder {
 public:
  Builder(const JsonLimits& limits, const std::unordered_map<size_t, double>& words) : limits_(limits), words_(words) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(int64_t value) { return add(value); }
  bool number_unsigned(uint64_t value) { return add(value); }
  bool number_float(double value, const std::string& /*text*/) { return add(value); }
  bool string(std::string& value) {
    const auto word = words_.find(strings_++);
    return word == words_.end() ? add(std::move(value)) : add(word->second);
  }
  bool binary(Json::binary_t& /*value*/) { return false; }
  bool key(std::string& name) {
    if (words_.contains(strings_++)) {
      rule_ = "a member's name is text";
      return false;
    }
    key_ = std::move(name);
    return true;
  }
  bool start_object(size_t /*size*/) { return open(Json::object()); }
  bool start_array(size_t /*size*/) { return open(Json::array()); }
  bool end_object() {
    remove_duplicates(stack_.back()->get_ref<Json::object_t&>());
    stack_.pop_back();
    return true;
  }
  bool end_array() {
    stack_.pop_back();
    return true;
  }
  template <typename Exception>
  bool parse_error(size_t position, const std::string& /*token*/, const Exception& e) {
    at_ = position;
    rule_ = e.what();
    return false;
  }

  Json take() { return std::move(root_); }
  [[noreturn]] void fail() const { refuse(rule_.empty() ? "syntax" : rule_, at_); }

 private:
  Json* place(Json value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *stack_.back();
    if (parent.is_array()) {
      auto& array = parent.get_ref<Json::array_t&>();
      array.push_back(std::move(value));
      return &array.back();
    }
    Members& object = members(parent.get_ref<Json::object_t&>());
    object.emplace_back(std::move(key_), std::move(value));
    return &object.back().second;
  }
  template <typename T>
  bool add(T&& value) {
    place(Json(std::forward<T>(value)));
    return true;
  }
  bool open(Json value) {
    if (stack_.size() >= limits_.max_depth) {
      rule_ = "nesting is at most " + std::to_string(limits_.max_depth);
      return false;
    }
    stack_.push_back(place(std::move(value)));
    return true;
  }

  const JsonLimits& limits_;
  const std::unordered_map<size_t, double>& words_;
  Json root_;
  std::vector<Json*> stack_;
  std::string key_;
  size_t strings_ = 0;
  size_t at_ = 0;
  std::string rule_;
};

}  // namespace

Json parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) refuse("text is at most " + std::to_string(limits.max_bytes) + " bytes", limits.max_bytes);
  WordScan scan;
  if (text.find("NaN") != std::string_view::npos || text.find("Infinity") != std::string_view::npos) {
    scan = replace_bare_words(text);
    text = scan.text;
  }
  Builder builder(limits, scan.numbers);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) builder.fail();
  return builder.take();
}

namespace {

constexpr int kMaxDumpDepth = 1000;

void append_unicode_escape(std::string& out, uint32_t unit) {
  constexpr char kDigits[] = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[(unit >> shift) & 15];
}

void append_text(std::string& out, const std::string& text) {
  out += '"';
  for (size_t i = 0; i < text.size();) {
    const uint32_t c = next_code_point(text, i);
    switch (c) {
      case '"': out += "\\\""; continue;
      case '\\': out += "\\\\"; continue;
      case '\n': out += "\\n"; continue;
      case '\r': out += "\\r"; continue;
      case '\t': out += "\\t"; continue;
      case '\b': out += "\\b"; continue;
      case '\f': out += "\\f"; continue;
      default: break;
    }
    if (c >= 0x20 && c < 0x7f) {
      out += static_cast<char>(c);
    } else if (c < 0x10000) {
      append_unicode_escape(out, c);
    } else {
      append_unicode_escape(out, 0xd800 + ((c - 0x10000) >> 10));
      append_unicode_escape(out, 0xdc00 + ((c - 0x10000) & 0x3ff));
    }
  }
  out += '"';
}

void append(std::string& out, const Json& value, int depth) {
  if (depth > kMaxDumpDepth) throw Error(ErrorCode::invalid, "json: value is nested too deep to be written");
  switch (value.type()) {
    case Json::value_t::null: out += "null"; return;
    case Json::value_t::boolean: out += value.get<bool>() ? "true" : "false"; return;
    case Json::value_t::number_float: out += json_number(value.get<double>()); return;
    case Json::value_t::string: append_text(out, value.get_ref<const std::string&>()); return;
    case Json::value_t::array: {
      out += '[';
      const char* separator = "";
      for (const Json& element : value) {
        out += separator;
        append(out, element, depth + 1);
        separator = ", ";
      }
      out += ']';
      return;
    }
    case Json::value_t::object: {
      out += '{';
      const char* separator = "";
      for (const auto& [name, member] : value.get_ref<const Json::object_t&>()) {
        out += separator;
        append_text(out, name);
        out += ": ";
        append(out, member, depth + 1);
        separator = ", ";
      }
      out += '}';
      return;
    }
    default: out += value.dump(); return;
  }
}

}  // namespace

std::string dump_json(const Json& value) {
  std::string out;
  append(out, value, 0);
  return out;
}

}  // namespace veneer::graph

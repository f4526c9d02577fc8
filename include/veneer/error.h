// The one exception type of Veneer. Everything that a caller, a file or a workflow can get wrong arrives as an Error.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace veneer {

enum class ErrorCode {
  not_found,    // a file, model, node or tensor that was named does not exist
  invalid,      // an argument, input or workflow breaks a rule
  corrupt,      // bytes do not follow their format
  unsupported,  // well formed, but outside of what this build can do
  no_memory,    // a budget or the machine's memory is exhausted
  cancelled,    // the job was asked to stop
  internal,     // a fault of Veneer itself
};

// The code's name as it appears in JSON: "not_found", "invalid", ...
std::string_view to_string(ErrorCode code);

// A failure: a fixed text that states the broken rule, and the data that explains it as ordered (key, value) pairs.
// what() is "text: key=value, key=value". Borders add what they know with `with`: file, tensor, node, input, ...
class Error : public std::runtime_error {
 public:
  using Context = std::vector<std::pair<std::string, std::string>>;

  Error(ErrorCode code, std::string text, Context context = {});

  ErrorCode code() const { return code_; }
  const std::string& text() const { return text_; }
  const Context& context() const { return context_; }

  // The value of the first context entry called `key`, or "" when there is none.
  std::string_view find(std::string_view key) const;

  // A copy with one more context entry at the end.
  [[nodiscard]] Error with(std::string key, std::string value) const;

 private:
  ErrorCode code_;
  std::string text_;
  Context context_;
};

}  // namespace veneer

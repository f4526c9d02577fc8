// Members: what a request asks for in the words of another API. What breaks a rule is told with the field, its value, the rule and what is allowed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/http/message.h"

namespace veneer::server {

// A view of a JSON object, which has to outlive it. All reading functions throw HttpError; a member that is null is not there.
class Members {
 public:
  struct Style {
    unsigned status;   // of errors
    const char* type;  // likewise
    bool text_of_all;  // numbers may stand where text is wanted
  };
  static constexpr Style kOpenAi{400, "invalid_request_error", false};
  static constexpr Style kWebUi{422, "invalid_request", true};

  // `place`: stands before the names of members in errors, such as "adapters[0].".
  Members(const Json& object, Style style, std::string place = "") : object_(object), style_(style), place_(std::move(place)) {}

  // nullptr for one that is not there.
  const Json* find(const char* name) const;
  std::string text(const char* name, const std::string& otherwise = "") const;
  // Forms carry numbers as text, and both APIs take them so everywhere. No NaN comes back.
  double number(const char* name, double otherwise, double low, double high) const;
  int whole(const char* name, int otherwise, int low, int high) const;
  bool flag(const char* name, bool otherwise) const;
  std::string choice(const char* name, const std::string& otherwise, const std::vector<std::string>& allowed) const;
  // A whole number of 64 bits, as a number or as text; nothing for one that is not there. `negative`: those below 0 are nothing too.
  std::optional<uint64_t> seed(const char* name, bool negative) const;

  // Refuses members of other names, which would be passed over in silence.
  void require_known(const std::vector<std::string>& names) const;
  // "steps must be ...". `facts`: more for programs: "allowed", or "minimum" and "maximum".
  [[noreturn]] void refuse(const std::string& name, const std::string& rule, Json facts = Json::object()) const;

 private:
  const Json& object_;
  const Style style_;
  const std::string place_;
};

}  // namespace veneer::server

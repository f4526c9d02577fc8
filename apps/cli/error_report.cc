#include "error_report.h"

#include <cstdio>
#include <new>
#include <utility>

#include "terminal_text.h"

namespace veneer::cli {

Error as_error(const std::exception& exception) {
  if (const auto* error = dynamic_cast<const Error*>(&exception)) return *error;
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) return Error(ErrorCode::no_memory, "out of memory");
  return Error(ErrorCode::internal, exception.what());
}

void report(const Error& error, bool json, const nlohmann::ordered_json& beside) {
  if (json) {
    nlohmann::ordered_json context = nlohmann::ordered_json::object();
    for (const auto& [key, value] : error.context()) {
      if (!value.empty()) context[key] = value;  // nothing is near, for one
    }
    nlohmann::ordered_json out = {{"error", {{"code", to_string(error.code())}, {"message", error.text()}, {"context", std::move(context)}}}};
    out.update(beside);
    return print_json(out);
  }
  std::fprintf(stderr, "error: %s\n", printable(error.text(), kMostOfAValue).c_str());
  for (const auto& [key, value] : error.context()) {
    if (value.empty()) continue;  // nothing is near, for one
    std::fprintf(stderr, "  %s: %s\n", printable(key, kMostOfAValue).c_str(), printable(value, kMostOfAValue).c_str());
  }
}

void print_json(const nlohmann::ordered_json& json) {
  std::printf("%s\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
}

}  // namespace veneer::cli

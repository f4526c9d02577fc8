// How a failure is told: as text on standard error, or as JSON on standard output.
#pragma once

#include <exception>
#include <nlohmann/json.hpp>

#include "veneer/error.h"

namespace veneer::cli {

inline constexpr int kFailed = 1;  // exit code

// Any exception as an Error.
Error as_error(const std::exception& exception);

// Prints the error. As JSON it is the member "error" of an object whose further members are `beside`.
void report(const Error& error, bool json, const nlohmann::ordered_json& beside = nlohmann::ordered_json::object());

// As the program prints JSON: indented, and bytes that are no UTF-8 replaced.
void print_json(const nlohmann::ordered_json& json);

}  // namespace veneer::cli

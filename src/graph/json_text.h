// JSON text in and out: bounded parsing of untrusted bytes, and the exact text that ComfyUI writes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "graph/json.h"

namespace veneer::graph {

struct JsonLimits {
  size_t max_bytes = size_t{64} << 20;
  size_t max_depth = 64;  // nested arrays and objects
};

// Parses UTF-8 JSON. The bare words NaN, Infinity and -Infinity are numbers; of members of one name the last counts, in the place of the
// first. Integers outside of 64 bits become the nearest double. Throws Error(invalid) with `at` (byte) for anything else and for a broken limit.
Json parse_json(std::string_view text, const JsonLimits& limits = {});

// One line of ASCII as Python's json.dumps writes it: ", " and ": " as separators, \u escapes, 8.0 keeps its point, NaN and Infinity are bare
// words. The form of the server's answers and of the chunks in a PNG. Throws Error(invalid) for text that is not UTF-8.
std::string dump_json(const Json& value);

}  // namespace veneer::graph

// Percent-encoding and query strings.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/http/message.h"

namespace veneer::server {

// "%41" -> "A". A percent sign without two digits stays as it is.
std::string percent_decode(std::string_view text, bool plus_is_space = false);
// Everything but letters, digits, "-._~" and what `keep` has.
std::string percent_encode(std::string_view text, std::string_view keep = "");

// "a=1&b=%20": split at '&', decoded, '+' is a space.
Pairs parse_query(std::string_view query);

bool equals_ignoring_case(std::string_view a, std::string_view b);
std::string lower_case(std::string_view text);
std::string_view trimmed(std::string_view text);
// Decimal digits with an optional minus, and nothing else.
std::optional<int64_t> parse_integer(std::string_view text);

}  // namespace veneer::server

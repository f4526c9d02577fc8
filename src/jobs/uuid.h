// Identifiers that nobody else makes.
#pragma once

#include <string>

namespace veneer::jobs {

// A random UUID (RFC 4122, version 4), lower case with dashes.
std::string make_uuid();

// The same 128 bits as 32 hexadecimal digits.
std::string make_hex_id();

}  // namespace veneer::jobs

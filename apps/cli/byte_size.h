// Sizes in bytes as people write and read them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace veneer::cli {

// What parse_byte_size takes, for error texts.
inline constexpr const char* kByteSizeForm =
    "a whole number of bytes with K, M, G, KiB, MiB or GiB (powers of 1024) or nothing behind it: 4294967296, 4096M, 4GiB";

// "4294967296", "4096M" and "4GiB" are the same; upper and lower case too. Nothing for any other text, and for what 64 bits do not hold.
std::optional<uint64_t> parse_byte_size(std::string_view text);

// A value that parse_byte_size takes, or "auto" where `with_auto`.
CLI::Validator byte_size(bool with_auto);

// "0 B", "1023 B", "1.0 KiB", "28.9 MiB", "4.0 GiB".
std::string format_byte_size(uint64_t bytes);

}  // namespace veneer::cli

// A 128-bit content hash (XXH3) and a builder that feeds it. Used to decide whether two descriptions are the same, never for security.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace veneer {

struct Fingerprint {
  uint64_t high = 0;
  uint64_t low = 0;
  auto operator<=>(const Fingerprint&) const = default;
  // 32 lower-case hexadecimal digits, high half first.
  std::string hex() const;
};

// Feeds values in order; every variable-length value is preceded by its length, so that ("ab","c") and ("a","bc") differ.
class FingerprintBuilder {
 public:
  FingerprintBuilder();
  ~FingerprintBuilder();
  FingerprintBuilder(FingerprintBuilder&&) noexcept;
  FingerprintBuilder& operator=(FingerprintBuilder&&) noexcept;

  FingerprintBuilder& add(std::string_view text);
  FingerprintBuilder& add(const char* text) { return add(std::string_view(text)); }
  FingerprintBuilder& add(const Fingerprint& fingerprint);
  FingerprintBuilder& add_bytes(std::span<const std::byte> bytes);
  template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) FingerprintBuilder& add(T value) {
    feed(&value, sizeof value);
    return *this;
  }
  Fingerprint finish() const;

 private:
  void feed(const void* data, size_t size);
  struct State;
  std::unique_ptr<State> state_;
};

// Fingerprint of one run of bytes.
Fingerprint fingerprint_of(std::span<const std::byte> bytes);

}  // namespace veneer

template <>
struct std::hash<veneer::Fingerprint> {
  size_t operator()(const veneer::Fingerprint& f) const noexcept { return static_cast<size_t>(f.low ^ (f.high * 0x9e3779b97f4a7c15ULL)); }
};

#include "base/fingerprint.h"

#include <xxhash.h>

#include "base/streaming_digest.h"

namespace veneer {

std::string Fingerprint::hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out(32, '0');
  for (int i = 0; i < 16; ++i) {
    out[15 - i] = kDigits[(high >> (4 * i)) & 15];
    out[31 - i] = kDigits[(low >> (4 * i)) & 15];
  }
  return out;
}

struct FingerprintBuilder::State {
  StreamingDigest digest;
};

FingerprintBuilder::FingerprintBuilder() : state_(std::make_unique<State>()) {}
FingerprintBuilder::~FingerprintBuilder() = default;
FingerprintBuilder::FingerprintBuilder(FingerprintBuilder&&) noexcept = default;
FingerprintBuilder& FingerprintBuilder::operator=(FingerprintBuilder&&) noexcept = default;

void FingerprintBuilder::feed(const void* data, size_t size) { state_->digest.add({static_cast<const std::byte*>(data), size}); }

FingerprintBuilder& FingerprintBuilder::add(std::string_view text) {
  add(static_cast<uint64_t>(text.size()));
  feed(text.data(), text.size());
  return *this;
}

FingerprintBuilder& FingerprintBuilder::add(const Fingerprint& fingerprint) { return add(fingerprint.high).add(fingerprint.low); }

FingerprintBuilder& FingerprintBuilder::add_bytes(std::span<const std::byte> bytes) {
  add(static_cast<uint64_t>(bytes.size()));
  feed(bytes.data(), bytes.size());
  return *this;
}

Fingerprint FingerprintBuilder::finish() const { return state_->digest.finish(); }

Fingerprint fingerprint_of(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

}  // namespace veneer

#include "base/fingerprint.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <optional>

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

// Most fingerprints are of a few words: those are hashed at once, with no streaming state to make.
struct FingerprintBuilder::State {
  std::array<std::byte, 448> first;
  size_t size = 0;
  std::optional<StreamingDigest> rest;  // of all bytes, once there are more

  void add(std::span<const std::byte> bytes) {
    if (!rest && bytes.size() <= first.size() - size) {
      std::ranges::copy(bytes, first.begin() + static_cast<std::ptrdiff_t>(size));
      size += bytes.size();
      return;
    }
    if (!rest) rest.emplace().add(std::span(first).first(size));
    rest->add(bytes);
  }
  Fingerprint finish() const { return rest ? rest->finish() : fingerprint_of(std::span(first).first(size)); }
};

FingerprintBuilder::FingerprintBuilder() : state_(std::make_unique<State>()) {}
FingerprintBuilder::~FingerprintBuilder() = default;
FingerprintBuilder::FingerprintBuilder(FingerprintBuilder&&) noexcept = default;
FingerprintBuilder& FingerprintBuilder::operator=(FingerprintBuilder&&) noexcept = default;

void FingerprintBuilder::feed(const void* data, size_t size) { state_->add({static_cast<const std::byte*>(data), size}); }

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

Fingerprint FingerprintBuilder::finish() const { return state_->finish(); }

Fingerprint fingerprint_of(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

}  // namespace veneer

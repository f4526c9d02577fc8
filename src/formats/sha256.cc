#include "formats/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <utility>

#include "formats/file_descriptor.h"
#include "formats/read_ahead.h"

namespace veneer::formats {
namespace {

void check(int result) {
  if (result != 1) throw Error(ErrorCode::internal, "sha256: the library refused");
}

}  // namespace

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  if (state_->context == nullptr) throw Error(ErrorCode::no_memory, "sha256: out of memory");
  check(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr));
}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) { check(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size())); }

std::string Sha256::finish_hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  check(EVP_DigestFinal_ex(state_->context, digest.data(), &size));
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : std::span(digest).first(size)) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish_hex();
}

std::string sha256_hex_of_file(const std::filesystem::path& path, const std::function<void(uint64_t, uint64_t)>& progress, uint64_t begin) {
  OpenFile file = open_for_reading(path);
  const uint64_t all = file.size_bytes > begin ? file.size_bytes - begin : 0;
  ReadAhead reader(std::move(file), path, begin);
  Sha256 hash;
  uint64_t done = 0;
  for (std::span<const std::byte> piece = reader.next(); !piece.empty(); piece = reader.next()) {
    hash.add(piece);
    done += piece.size();
    if (progress) progress(done, all);
  }
  return hash.finish_hex();
}

}  // namespace veneer::formats

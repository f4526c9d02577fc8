#include "formats/sha256.h"

#include <fcntl.h>
#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <vector>

#include "formats/file_descriptor.h"

namespace veneer::formats {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

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
  const OpenFile file = open_for_reading(path);
  (void)::posix_fadvise(file.fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  Sha256 hash;
  std::vector<std::byte> piece(kPieceBytes);
  const uint64_t all = file.size_bytes > begin ? file.size_bytes - begin : 0;
  uint64_t done = 0;
  while (true) {
    const ssize_t count = ::pread(file.fd.get(), piece.data(), piece.size(), static_cast<off_t>(begin + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw file_error("file cannot be read", path, errno);
    if (count == 0) return hash.finish_hex();
    hash.add(std::span(piece).first(static_cast<size_t>(count)));
    done += static_cast<uint64_t>(count);
    if (progress) progress(done, all);
  }
}

}  // namespace veneer::formats

// SHA-256 (FIPS 180-4), streamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace veneer::formats {

// One hash in the making; move-only, one thread.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  void add(std::span<const std::byte> bytes);
  // 64 lower-case hexadecimal digits of all bytes added. Call once, last.
  std::string finish_hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::span<const std::byte> bytes);

// Of a file's content from `begin` on, read in pieces: memory stays at a few MB however long the file. `progress`, if given, hears (bytes done, bytes
// in all) after each piece, and may throw to stop. Throws Error(not_found) or Error(invalid) naming the file.
std::string sha256_hex_of_file(const std::filesystem::path& path, const std::function<void(uint64_t, uint64_t)>& progress = {}, uint64_t begin = 0);

}  // namespace veneer::formats

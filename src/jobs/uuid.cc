#include "jobs/uuid.h"

#include <unistd.h>

#include <array>
#include <cstdint>

#include "veneer/error.h"

namespace veneer::jobs {

std::string make_hex_id() {
  static constexpr char kDigits[] = "0123456789abcdef";
  // std::random_device opens a file or asks what the processor can, at each use: six hundredths of a small prompt.
  std::array<uint32_t, 4> words{};
  if (::getentropy(words.data(), sizeof words) != 0) throw Error(ErrorCode::internal, "the system gives no random numbers");
  words[1] = (words[1] & 0xFFFF0FFFU) | 0x00004000U;
  words[2] = (words[2] & 0x3FFFFFFFU) | 0x80000000U;
  std::string text;
  for (const uint32_t word : words) {
    for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[(word >> static_cast<unsigned>(shift)) & 15U];
  }
  return text;
}

std::string make_uuid() {
  std::string text = make_hex_id();
  for (const size_t dash : {20, 16, 12, 8}) text.insert(dash, 1, '-');
  return text;
}

}  // namespace veneer::jobs

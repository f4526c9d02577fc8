#include "server/picture_gate.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string_view>

#include "server/http/message.h"

namespace veneer::server {
namespace {

struct Size {
  uint64_t width = 0, height = 0;
};

using Head = std::array<unsigned char, 32>;

// JPEG's segments up to the one that states the size (ITU T.81, B.2.2).
Size jpeg_size(std::istream& in) {
  constexpr int kMaxSegments = 4096;
  std::streamoff at = 2;
  for (int i = 0; i < kMaxSegments; ++i) {
    std::array<unsigned char, 9> s{};
    in.seekg(at);
    in.read(reinterpret_cast<char*>(s.data()), s.size());
    if (!in || s[0] != 0xFF) return {};
    const unsigned marker = s[1];
    if (marker == 0xFF) {
      ++at;
      continue;
    }
    const bool frame = marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
    if (frame) return {.width = s[7] * 256U + s[8], .height = s[5] * 256U + s[6]};
    at += 2 + std::streamoff{s[2]} * 256 + s[3];
  }
  return {};
}

// RFC 9649: the canvas, or the one frame.
Size webp_size(const Head& h) {
  const auto little = [&](size_t at, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) value |= uint64_t{h.at(at + i)} << (8 * i);
    return value;
  };
  switch (h[15]) {
    case 'X': return {.width = little(24, 3) + 1, .height = little(27, 3) + 1};
    case 'L': return {.width = (little(21, 4) & 0x3FFF) + 1, .height = (little(21, 4) >> 14 & 0x3FFF) + 1};
    default: return {.width = little(26, 2) & 0x3FFF, .height = little(28, 2) & 0x3FFF};
  }
}

Size size_of(std::istream& in) {
  Head h{};
  in.read(reinterpret_cast<char*>(h.data()), h.size());
  in.clear();
  const std::string_view text(reinterpret_cast<const char*>(h.data()), h.size());
  const auto big = [&](size_t at) { return uint64_t{h.at(at)} << 24 | uint64_t{h.at(at + 1)} << 16 | uint64_t{h.at(at + 2)} << 8 | h.at(at + 3); };
  if (text.starts_with("\x89PNG")) return {.width = big(16), .height = big(20)};
  if (text.starts_with("\xFF\xD8")) return jpeg_size(in);
  if (text.starts_with("RIFF") && text.substr(8, 4) == "WEBP") return webp_size(h);
  return {};
}

Size size_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return size_of(in);
}

Size size_of(std::string_view picture) {
  constexpr size_t kMostBefore = size_t{1} << 20;  // a picture's size stands near its begin
  std::istringstream in{std::string(picture.substr(0, kMostBefore))};
  return size_of(in);
}

}  // namespace

PictureGate::Pass::Pass(PictureGate& gate, uint64_t width, uint64_t height) : gate_(gate) { enter(bytes_of(width, height)); }

PictureGate::Pass::Pass(PictureGate& gate, const std::filesystem::path& file) : gate_(gate) {
  const Size size = size_of(file);
  enter(bytes_of(size.width, size.height));
}

PictureGate::Pass::Pass(PictureGate& gate, const std::filesystem::path& file, std::string_view picture) : gate_(gate) {
  const Size first = size_of(file);
  const Size second = size_of(picture);
  enter(bytes_of(first.width, first.height) + bytes_of(second.width, second.height));
}

uint64_t PictureGate::Pass::bytes_of(uint64_t width, uint64_t height) const {
  const uint64_t most = gate_.limits_.max_pixels;
  if (width > 0 && height > most / width) {
    throw HttpError(400, "too_large", "The picture has too many pixels to be converted", "at most " + std::to_string(most));
  }
  return width * height * 4;
}

void PictureGate::Pass::enter(uint64_t bytes) {
  const Limits& limits = gate_.limits_;
  std::unique_lock lock(gate_.mutex_);
  // A picture that is alone always goes.
  const bool full = gate_.bytes_ > 0 && gate_.bytes_ + bytes > limits.max_bytes;
  if (full || (gate_.working_ >= limits.at_once && gate_.waiting_ >= limits.may_wait)) {
    throw HttpError(503, "busy", "The server converts other pictures at this moment");
  }
  gate_.bytes_ += bytes;
  bytes_ = bytes;
  ++gate_.waiting_;
  gate_.free_.wait(lock, [&] { return gate_.working_ < limits.at_once; });
  --gate_.waiting_;
  ++gate_.working_;
}

PictureGate::Pass::~Pass() {
  {
    const std::lock_guard lock(gate_.mutex_);
    gate_.bytes_ -= bytes_;
    --gate_.working_;
  }
  gate_.free_.notify_one();
}

}  // namespace veneer::server

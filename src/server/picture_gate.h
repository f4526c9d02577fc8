// PictureGate: bounds what decoding pictures for clients takes, all requests together.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string_view>

namespace veneer::server {

// All members may be called from any thread.
class PictureGate {
 public:
  struct Limits {
    uint64_t max_pixels = uint64_t{64} << 20;  // of one picture
    uint64_t max_bytes = uint64_t{256} << 20;  // decoded, of all that are being worked on
    size_t at_once = 2;                        // the machine's processors are for jobs
    size_t may_wait = 4;                       // each holds a handler's thread
  };
  PictureGate() : PictureGate(Limits{}) {}
  explicit PictureGate(const Limits& limits) : limits_(limits) {}

  // Room for one picture, until it goes out of scope.
  class Pass {
   public:
    // Waits for its turn. Throws HttpError: 400 for a picture of too many pixels, 503 with Retry-After when too many wait or no bytes are left.
    Pass(PictureGate& gate, uint64_t width, uint64_t height);
    // The size as the file's header states it; a file that is no picture passes, and fails where it is decoded.
    Pass(PictureGate& gate, const std::filesystem::path& file);
    // A file (or none: an empty path) and a picture in memory that are worked on together.
    Pass(PictureGate& gate, const std::filesystem::path& file, std::string_view picture);
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    // The bytes of it, decoded.
    uint64_t bytes_of(uint64_t width, uint64_t height) const;
    void enter(uint64_t bytes);
    PictureGate& gate_;
    uint64_t bytes_ = 0;
  };

 private:
  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable free_;
  uint64_t bytes_ = 0;
  size_t working_ = 0, waiting_ = 0;
};

}  // namespace veneer::server

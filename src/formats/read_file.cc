#include "formats/read_file.h"

#include <cerrno>

#include "formats/file_descriptor.h"

namespace veneer::formats {

std::vector<std::byte> read_file(const std::filesystem::path& path, uint64_t max_bytes) {
  const OpenFile file = open_for_reading(path);
  if (file.size_bytes > max_bytes) {
    throw Error(ErrorCode::invalid, "file is too large",
                {{"file", path.string()}, {"bytes", std::to_string(file.size_bytes)}, {"most", std::to_string(max_bytes)}});
  }
  std::vector<std::byte> bytes(file.size_bytes);
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::read(file.fd.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw file_error("file cannot be read", path, errno);
    if (count == 0) break;  // it was made shorter meanwhile
    done += static_cast<size_t>(count);
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace veneer::formats

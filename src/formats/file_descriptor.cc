#include "formats/file_descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

namespace veneer::formats {

Error file_error(std::string text, const std::filesystem::path& path, int error_number) {
  ErrorCode code = ErrorCode::invalid;
  if (error_number == ENOENT || error_number == ENOTDIR) code = ErrorCode::not_found;
  if (error_number == ENOMEM) code = ErrorCode::no_memory;
  return Error(code, std::move(text), {{"file", path.string()}, {"reason", std::generic_category().message(error_number)}});
}

OpenFile open_for_reading(const std::filesystem::path& path) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) throw file_error("file cannot be opened", path, errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) throw file_error("file cannot be examined", path, errno);
  if (!S_ISREG(status.st_mode)) throw Error(ErrorCode::invalid, "not a regular file", {{"file", path.string()}});
  return {std::move(fd), static_cast<uint64_t>(status.st_size)};
}

}  // namespace veneer::formats

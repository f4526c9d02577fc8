#include "formats/mapped_file.h"

#include <sys/mman.h>

#include <cerrno>

#include "formats/file_descriptor.h"

namespace veneer::formats {

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const OpenFile file = open_for_reading(path);
  const size_t size = file.size_bytes;
  if (size == 0) return std::shared_ptr<const MappedFile>(new MappedFile(nullptr, 0));
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd.get(), 0);
  if (data == MAP_FAILED) throw file_error("file cannot be mapped", path, errno);
  try {
    return std::shared_ptr<const MappedFile>(new MappedFile(static_cast<const std::byte*>(data), size));
  } catch (...) {
    ::munmap(data, size);
    throw;
  }
}

void drop_pages(std::span<const std::byte> bytes) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t begin = (first + page - 1) / page * page, end = (first + bytes.size()) / page * page;
  // A hint: where it is refused the pages stay.
  if (begin < end) (void)::madvise(const_cast<std::byte*>(bytes.data() + (begin - first)), end - begin, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace veneer::formats

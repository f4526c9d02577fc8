#include "nodes/pinned_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string>

#include "formats/mapped_file.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

namespace fs = std::filesystem;

int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000LL + time.tv_nsec; }

registry::FileIdentity identity_of(int fd, const fs::path& path) {
  struct stat facts = {};
  if (::fstat(fd, &facts) != 0) throw formats::file_error("file cannot be examined", path, errno);
  return {.device = facts.st_dev,
          .inode = facts.st_ino,
          .size_bytes = static_cast<uint64_t>(facts.st_size),
          .modified_ns = nanoseconds(facts.st_mtim),
          .changed_ns = nanoseconds(facts.st_ctim)};
}

// File systems of this machine: a refused lease means a writer, and every write is told. Those of networks refuse leases for reasons of their own,
// and others may write there.
bool is_local(int fd) {
  constexpr int64_t kXfs = 0x58465342;
  constexpr std::array<int64_t, 5> kLocal = {EXT4_SUPER_MAGIC, BTRFS_SUPER_MAGIC, TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC, kXfs};
  struct statfs facts = {};
  return ::fstatfs(fd, &facts) == 0 && std::ranges::find(kLocal, static_cast<int64_t>(facts.f_type)) != kLocal.end();
}

// Of pages at equal distances, the first and the last among them.
Fingerprint sample_of(int fd, uint64_t size) {
  constexpr uint64_t kPages = 64;
  std::array<std::byte, 4096> page{};
  const uint64_t last = size > page.size() ? size - page.size() : 0;
  FingerprintBuilder out;
  for (uint64_t i = 0; i < kPages; ++i) {
    const uint64_t at = last / (kPages - 1) * i + last % (kPages - 1) * i / (kPages - 1);
    const ssize_t count = ::pread(fd, page.data(), page.size(), static_cast<off_t>(at));
    out.add(static_cast<int64_t>(count));
    if (count > 0) out.add_bytes(std::span(page).first(static_cast<size_t>(count)));
    if (last == 0) break;
  }
  return out.finish();
}

bool is_open_for_writing(int fd) {
  if (!is_local(fd)) return false;
  // A lease belongs to an open file of its own. A writer who comes in between is told by a signal, which has to be one that nobody minds.
  const formats::FileDescriptor own(::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDONLY | O_CLOEXEC));
  if (own.get() < 0 || ::fcntl(own.get(), F_SETSIG, SIGURG) != 0) return false;
  if (::fcntl(own.get(), F_SETLEASE, F_RDLCK) != 0) return errno == EAGAIN;
  ::fcntl(own.get(), F_SETLEASE, F_UNLCK);
  return false;
}

}  // namespace

std::shared_ptr<const PinnedFile> PinnedFile::open(std::span<const fs::path> files, const std::shared_ptr<WriteWatch>& watch) {
  std::vector<Part> parts;
  FileIdentities identities;
  for (const fs::path& path : files) {
    Part part{path, std::move(formats::open_for_reading(path).fd), nullptr, std::nullopt};
    const int fd = part.fd.get();
    if (watch) part.mark = watch->add(fd);  // before the file is looked at: what comes later is seen
    identities.push_back(identity_of(fd, path));
    if (!part.mark || !part.mark->sure() || !is_local(fd)) part.sample = sample_of(fd, identities.back().size_bytes);
    parts.push_back(std::move(part));
  }
  return std::shared_ptr<const PinnedFile>(new PinnedFile(std::move(parts), std::move(identities)));
}

std::shared_ptr<const PinnedFile> PinnedFile::gone(const fs::path& path, const FileIdentities& identities) {
  std::vector<Part> parts;
  parts.push_back({path, formats::FileDescriptor(), nullptr, std::nullopt});
  return std::shared_ptr<const PinnedFile>(new PinnedFile(std::move(parts), identities));
}

uint64_t PinnedFile::size_bytes() const {
  uint64_t size = 0;
  for (const registry::FileIdentity& identity : identities_) size += identity.size_bytes;
  return size;
}

bool PinnedFile::being_written() const {
  return std::ranges::any_of(parts_, [](const Part& part) {
    std::error_code unknown;
    return part.fd.get() >= 0 && (fs::exists(part.path.string() + ".aria2", unknown) || is_open_for_writing(part.fd.get()));
  });
}

bool PinnedFile::written_to(const Part& part, const registry::FileIdentity& was) {
  registry::FileIdentity now;
  try {
    now = identity_of(part.fd.get(), part.path);
  } catch (const Error&) {
    return true;  // lost: another machine may have removed it
  }
  if (now.size_bytes != was.size_bytes || now.modified_ns != was.modified_ns) return true;
  if (part.mark && part.mark->written()) return true;
  // Its time of last change moves with every write, and no program sets it back.
  if (now.changed_ns == was.changed_ns) return false;
  // Writes through a mapping are not told; that somebody closed what he had open for writing is, and until then he has it open.
  if (is_open_for_writing(part.fd.get()) || (part.mark && part.mark->writer_closed())) return true;
  if (part.sample) return sample_of(part.fd.get(), now.size_bytes) != *part.sample;
  return !part.mark->sure();
}

std::optional<fs::path> PinnedFile::written_to() const {
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].fd.get() >= 0 && written_to(parts_[i], identities_[i])) return parts_[i].path;
  }
  return std::nullopt;
}

bool PinnedFile::is_current() const {
  for (size_t i = 0; i < parts_.size(); ++i) {
    try {
      if (registry::identify(parts_[i].path) != identities_[i]) return false;
    } catch (const Error&) {
      return false;
    }
  }
  return true;
}

bool PinnedFile::paths_lead_here() const {
  for (size_t i = 0; i < parts_.size(); ++i) {
    struct stat facts = {};
    if (::stat(parts_[i].path.c_str(), &facts) != 0 || facts.st_dev != identities_[i].device || facts.st_ino != identities_[i].inode) return false;
  }
  return true;
}

formats::ModelFile PinnedFile::read() const {
  if (paths_lead_here()) {
    formats::ModelFile file = formats::ModelFile::open(path());
    // Else the name came to stand for another file while that was opened.
    if (paths_lead_here()) return file;
  }
  if (parts_.size() > 1)
    throw Error(ErrorCode::invalid, "model: one of its files was replaced meanwhile", {{"file", path().string()}, {"busy", "true"}});
  const auto mapped = formats::MappedFile::open("/proc/self/fd/" + std::to_string(parts_.front().fd.get()));
  return formats::ModelFile::parse(mapped->bytes(), mapped, path().string());
}

}  // namespace veneer::nodes

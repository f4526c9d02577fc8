// PinnedFile: a model's file held open, so that its content can be had though its name comes to stand for another file, or for none.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "formats/file_descriptor.h"
#include "formats/model_file.h"
#include "registry/file_identity.h"

namespace veneer::nodes {

// Immutable; any thread.
class PinnedFile {
 public:
  // Throws Error(not_found) or Error(invalid) naming the file.
  static std::shared_ptr<const PinnedFile> open(const std::filesystem::path& path);

  // Stands for a file that was not held: what is known of it is where it lay and what it was.
  static std::shared_ptr<const PinnedFile> gone(const std::filesystem::path& path, const registry::FileIdentity& identity);

  const std::filesystem::path& path() const { return path_; }
  const registry::FileIdentity& identity() const { return identity_; }

  // Whether a program has it open for writing. The kernel tells by refusing a lease on it: on the file systems of one machine, for files of the
  // process' own user (or any, for root). False where that cannot be known. A download manager's control file beside it ("NAME.aria2") counts too.
  bool being_written() const;
  // Whether its bytes are no longer those that it was opened with: somebody wrote to it, and did not put another file in its place.
  bool changed_in_place() const;

  // Opens the model: by its path while that leads here, so that shards are found, else by the open file. Throws what ModelFile::open does.
  formats::ModelFile read() const;

 private:
  PinnedFile(std::filesystem::path path, formats::FileDescriptor fd, const registry::FileIdentity& identity)
      : path_(std::move(path)), fd_(std::move(fd)), identity_(identity) {}
  bool path_leads_here() const;
  const std::filesystem::path path_;
  const formats::FileDescriptor fd_;
  const registry::FileIdentity identity_;
};

}  // namespace veneer::nodes

// PinnedFile: a model's files held open, so that its content can be had though its name comes to stand for other files, or for none.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fingerprint.h"
#include "formats/file_descriptor.h"
#include "formats/model_file.h"
#include "nodes/write_watch.h"
#include "registry/file_identity.h"

namespace veneer::nodes {

// Of the files of a model: the only one, or the index and its shards in order.
using FileIdentities = std::vector<registry::FileIdentity>;

// Immutable; any thread.
class PinnedFile {
 public:
  // `files`: the model's, the one that bears its name first. Without a watch, writes that set a file's time back are found by samples of its content.
  // Throws Error(not_found) or Error(invalid) naming the file.
  static std::shared_ptr<const PinnedFile> open(std::span<const std::filesystem::path> files, const std::shared_ptr<WriteWatch>& watch);

  // Stands for files that were not held: what is known of them is where they lay and what they were.
  static std::shared_ptr<const PinnedFile> gone(const std::filesystem::path& path, const FileIdentities& identities);

  const std::filesystem::path& path() const { return parts_.front().path; }
  const FileIdentities& identities() const { return identities_; }
  // Of all files together.
  uint64_t size_bytes() const;

  // Whether a program has one of them open for writing. The kernel tells by refusing a lease on it: on the file systems of one machine, for files of
  // the process' own user (or any, for root). False where that cannot be known. A download manager's control file beside it ("NAME.aria2") counts
  // too.
  bool being_written() const;

  // The file whose bytes are no longer those that it was opened with: somebody wrote to it, and did not put another file in its place. That is told
  // by its size, by its time, and where the time was set back by the kernel's messages of writes. Files that are renamed, linked, removed, or get
  // other rights are the same. Where there are no such messages (files on another machine), pages from all over the file are compared.
  std::optional<std::filesystem::path> written_to() const;

  // Whether every path still leads to what was opened, as it was.
  bool is_current() const;

  // Opens the model: by its path while that leads here, so that shards are found, else by the open file. Throws what ModelFile::open does, and
  // Error(invalid) with `busy` for a model in shards of which one was replaced.
  formats::ModelFile read() const;

 private:
  struct Part {
    std::filesystem::path path;
    formats::FileDescriptor fd;  // none for files that are gone
    std::shared_ptr<const WriteWatch::Mark> mark;
    std::optional<Fingerprint> sample;  // of the content when it was opened; where the mark may miss something
  };
  PinnedFile(std::vector<Part> parts, FileIdentities identities) : parts_(std::move(parts)), identities_(std::move(identities)) {}
  static bool written_to(const Part& part, const registry::FileIdentity& was);
  bool paths_lead_here() const;
  const std::vector<Part> parts_;
  const FileIdentities identities_;
};

}  // namespace veneer::nodes

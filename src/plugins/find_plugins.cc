#include "plugins/find_plugins.h"

#include <algorithm>

#include "plugins/plugin_text.h"
#include "veneer/error.h"

namespace veneer::plugins {
namespace {

namespace fs = std::filesystem;

bool everybody_may_write(const fs::path& path) {
  std::error_code failed;
  const fs::perms perms = fs::status(path, failed).permissions();
  return !failed && (perms & fs::perms::others_write) != fs::perms::none;
}

// Whether everybody may put something else in the place of what is in the folder: in a sticky one ("/tmp") the owner of each entry alone may.
bool everybody_may_replace(const fs::path& folder) {
  std::error_code failed;
  const fs::perms perms = fs::status(folder, failed).permissions();
  return !failed && (perms & fs::perms::others_write) != fs::perms::none && (perms & fs::perms::sticky_bit) == fs::perms::none;
}

// The first of the file, what it links to, the folders of both that everybody may write to, and the folders above those in which everybody may
// replace what is below; empty if none.
fs::path open_place(const fs::path& file) {
  std::error_code failed;
  const fs::path given = fs::absolute(file, failed);
  const fs::path real = fs::canonical(file, failed);
  for (const fs::path& path : {given, given.parent_path(), real, real.parent_path()}) {
    if (!path.empty() && everybody_may_write(path)) return path;
  }
  for (const fs::path& path : {given, real}) {
    for (fs::path above = path.parent_path(); above != above.parent_path(); above = above.parent_path()) {
      if (everybody_may_replace(above.parent_path())) return above.parent_path();
    }
  }
  return {};
}

Candidate candidate_of(const fs::path& path) {
  Candidate found{.name = path.filename().string(), .file = path, .refused = {}};
  std::error_code failed;
  if (fs::is_directory(path, failed)) {
    found.file = path / (found.name + ".so");
    if (!fs::is_regular_file(found.file, failed)) {
      found.file = path;
      found.refused = fs::exists(path / "__init__.py", failed) ? "it is a Python pack; plug-ins are shared libraries"
                                                               : "the folder has no library " + found.name + ".so";
      return found;
    }
  } else {
    found.name = path.stem().string();
  }
  const bool printable = is_utf8(found.name) && std::ranges::none_of(found.name, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  if (!printable) {
    found.name = printable_text(as_abi(found.name));
    found.refused = "its name has characters that names may not have";
    return found;
  }
  // A pipe would hold up whoever opens it.
  if (!fs::is_regular_file(found.file, failed)) {
    found.refused = fs::exists(fs::symlink_status(found.file, failed)) && !fs::exists(found.file, failed) ? "it is a link that leads nowhere"
                                                                                                          : "it is no regular file";
    return found;
  }
  const fs::path open = open_place(found.file);
  if (!open.empty()) found.refused = "everybody may write to " + open.string();
  return found;
}

}  // namespace

std::vector<Candidate> find_plugins(const fs::path& folder) {
  std::error_code failed;
  if (!fs::is_directory(folder, failed)) throw Error(ErrorCode::not_found, "no such folder of plug-ins", {{"folder", folder.string()}});
  std::vector<Candidate> found;
  fs::directory_iterator at(folder, failed);
  if (failed) throw Error(ErrorCode::not_found, "the folder of plug-ins cannot be read", {{"folder", folder.string()}, {"reason", failed.message()}});
  for (const fs::directory_iterator end; at != end; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    const bool directory = at->is_directory(failed);
    if (name.starts_with('.') || name.ends_with(".disabled") || name == "__pycache__" || (!directory && !name.ends_with(".so"))) continue;
    found.push_back(candidate_of(at->path()));
  }
  std::ranges::stable_sort(found, {}, [](const Candidate& each) { return std::pair(each.name, each.file.string()); });
  return found;
}

}  // namespace veneer::plugins

#include "nodes/input_files.h"

#include <algorithm>
#include <array>
#include <system_error>

#include "veneer/error.h"

namespace veneer::nodes {
namespace {

namespace fs = std::filesystem;

// Cuts a trailing " [output]" and the like off `name`.
const fs::path& folder_of(const ImageFolders& folders, std::string& name) {
  const std::array<std::pair<std::string_view, const fs::path*>, 3> notes = {
      {{"[input]", &folders.input}, {"[output]", &folders.output}, {"[temp]", &folders.temp}}};
  for (const auto& [note, folder] : notes) {
    if (!name.ends_with(note)) continue;
    name.resize(name.size() - note.size());
    if (name.ends_with(' ')) name.pop_back();
    return *folder;
  }
  return folders.input;
}

bool has_image_extension(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::array<std::string_view, 4> kKnown = {".png", ".jpg", ".jpeg", ".webp"};
  return std::find(kKnown.begin(), kKnown.end(), extension) != kKnown.end();
}

}  // namespace

fs::path resolve_input_file(const ImageFolders& folders, std::string name) {
  const std::string asked = name;
  const fs::path& folder = folder_of(folders, name);
  std::replace(name.begin(), name.end(), '\\', '/');
  const fs::path relative = fs::path(name).lexically_normal();
  if (name.empty() || name.find('\0') != std::string::npos || relative.is_absolute() || *relative.begin() == "..") {
    throw Error(ErrorCode::invalid, "image: the name leaves its folder", {{"image", asked}});
  }
  std::error_code failure;
  fs::path path = folder / relative;
  if (!fs::is_regular_file(path, failure)) {
    throw Error(ErrorCode::not_found, "image: no such file", {{"image", asked}, {"folder", folder.string()}});
  }
  // A link inside of the folder may not lead out of it.
  const fs::path root = fs::canonical(folder, failure);
  const fs::path target = failure ? fs::path() : fs::canonical(path, failure);
  const auto [end, unused] = std::mismatch(root.begin(), root.end(), target.begin(), target.end());
  if (failure || end != root.end()) throw Error(ErrorCode::invalid, "image: the name leaves its folder", {{"image", asked}});
  return path;
}

std::vector<std::string> list_input_files(const ImageFolders& folders, bool images_only) {
  std::vector<std::string> names;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(folders.input, failure)) {
    std::error_code unreadable;
    if (!entry.is_regular_file(unreadable)) continue;
    if (images_only && !has_image_extension(entry.path())) continue;
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace veneer::nodes

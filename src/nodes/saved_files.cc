#include "nodes/saved_files.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace veneer::nodes {
namespace {

namespace fs = std::filesystem;

bool exists(const ImageFolders& folders, const graph::Json& image) {
  const auto text = [&](const char* member) {
    const auto at = image.find(member);
    return at != image.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  const std::string type = text("type");
  const fs::path& folder = type == "temp" ? folders.temp : type == "input" ? folders.input : folders.output;
  std::error_code unknown;
  return fs::exists(folder / text("subfolder") / text("filename"), unknown) || unknown;
}

}  // namespace

graph::RecordCheck check_saved_files(std::shared_ptr<const ImageFolders> folders) {
  return {[folders = std::move(folders)](const std::string& class_type, const graph::Json& ui) {
    if (class_type != "SaveImage" && class_type != "PreviewImage") return true;
    const auto images = ui.find("images");
    if (images == ui.end() || !images->is_array()) return true;
    return std::ranges::all_of(*images, [&](const graph::Json& image) { return !image.is_object() || exists(*folders, image); });
  }};
}

}  // namespace veneer::nodes

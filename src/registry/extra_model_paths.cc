#include "registry/extra_model_paths.h"

#include <yaml-cpp/yaml.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "veneer/error.h"

namespace veneer::registry {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kMaxBytes = uintmax_t{1} << 20;

YAML::Node read(const fs::path& file) {
  std::error_code unknown;
  const uintmax_t size = fs::file_size(file, unknown);
  std::ifstream in(file, std::ios::binary);
  if (unknown || !in) throw Error(ErrorCode::not_found, "extra model paths: cannot open the file", {{"file", file.string()}});
  if (size > kMaxBytes) throw Error(ErrorCode::invalid, "extra model paths: the file is too large", {{"file", file.string()}});
  try {
    return YAML::Load(std::string(std::istreambuf_iterator<char>(in), {}));
  } catch (const YAML::Exception& error) {
    throw Error(ErrorCode::invalid, "extra model paths: the file is no YAML", {{"file", file.string()}, {"reason", error.what()}});
  }
}

fs::path expanded(const std::string& path, const fs::path& home) {
  if (path == "~") return home;
  return path.starts_with("~/") ? home / path.substr(2) : fs::path(path);
}

// A path a line.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos) continue;
    lines.push_back(line.substr(first, line.find_last_not_of(" \t\r") - first + 1));
  }
  return lines;
}

void add_section(ModelFolders& folders, const YAML::Node& section, const fs::path& file, const fs::path& home) {
  const fs::path beside = fs::absolute(file).parent_path();
  fs::path base = beside;
  if (const YAML::Node given = section["base_path"]) base = beside / expanded(given.as<std::string>(), home);
  const bool first = section["is_default"] && section["is_default"].as<bool>();
  for (const auto& member : section) {
    const auto kind = member.first.as<std::string>();
    if (kind == "base_path" || kind == "is_default" || kind == "custom_nodes" || member.second.IsNull()) continue;
    for (const std::string& path : lines_of(member.second.as<std::string>())) {
      folders.add_folder(kind, (base / expanded(path, home)).lexically_normal(), first);
    }
  }
}

}  // namespace

void add_extra_model_paths(ModelFolders& folders, const fs::path& file, const fs::path& home) {
  const YAML::Node root = read(file);
  if (root.IsNull()) return;
  if (!root.IsMap()) throw Error(ErrorCode::invalid, "extra model paths: the file is no map of sections", {{"file", file.string()}});
  for (const auto& section : root) {
    std::string name;
    try {
      name = section.first.as<std::string>();
      if (section.second.IsNull()) continue;
      if (!section.second.IsMap())
        throw Error(ErrorCode::invalid, "extra model paths: a section is no map", {{"file", file.string()}, {"section", name}});
      add_section(folders, section.second, file, home);
    } catch (const YAML::Exception& error) {
      throw Error(ErrorCode::invalid, "extra model paths: a section cannot be read",
                  {{"file", file.string()}, {"section", name}, {"reason", error.what()}});
    }
  }
}

}  // namespace veneer::registry

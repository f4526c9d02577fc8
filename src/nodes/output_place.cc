#include "nodes/output_place.h"

#include <algorithm>
#include <cctype>
#include <ctime>
#include <system_error>

#include "veneer/error.h"

namespace veneer::nodes {
namespace {

namespace fs = std::filesystem;

std::string two_digits(int value) { return (value < 10 ? "0" : "") + std::to_string(value); }

// The prefix as a path below the folder. Both separators part directories, "." and a closing separator are dropped, an empty prefix is ".".
fs::path relative_path(std::string prefix) {
  std::replace(prefix.begin(), prefix.end(), '\\', '/');
  fs::path relative = fs::path(prefix).lexically_normal();
  if (relative.has_parent_path() && !relative.has_filename()) relative = relative.parent_path();
  return relative.empty() ? fs::path(".") : relative;
}

}  // namespace

void replace_all(std::string& text, std::string_view from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
}

std::string expand_prefix(std::string prefix, int64_t width, int64_t height) {
  replace_all(prefix, "%width%", std::to_string(width));
  replace_all(prefix, "%height%", std::to_string(height));
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  replace_all(prefix, "%year%", std::to_string(local.tm_year + 1900));
  replace_all(prefix, "%month%", two_digits(local.tm_mon + 1));
  replace_all(prefix, "%day%", two_digits(local.tm_mday));
  replace_all(prefix, "%hour%", two_digits(local.tm_hour));
  replace_all(prefix, "%minute%", two_digits(local.tm_min));
  replace_all(prefix, "%second%", two_digits(local.tm_sec));
  return prefix;
}

OutputPlace output_place(const fs::path& folder, const std::string& prefix) {
  const auto refuse = [&](const char* rule) { throw Error(ErrorCode::invalid, rule, {{"input", "filename_prefix"}, {"value", prefix}}); };
  if (prefix.find('\0') != std::string::npos) refuse("save: the prefix holds a zero byte");
  const fs::path relative = relative_path(prefix);
  if (relative.is_absolute() || *relative.begin() == "..") refuse("save: the prefix leaves the output folder");
  OutputPlace place{folder / relative.parent_path(), relative.parent_path().generic_string(), relative.filename().string()};
  std::error_code failure;
  fs::create_directories(folder, failure);  // what hinders it is told below
  // Before anything is made below the folder: an existing link in the path must not lead out of it.
  const fs::path root = fs::weakly_canonical(folder, failure);
  const fs::path target = failure ? fs::path() : fs::weakly_canonical(place.directory, failure);
  const auto [end, unused] = std::mismatch(root.begin(), root.end(), target.begin(), target.end());
  if (failure) throw Error(ErrorCode::invalid, "save: cannot use the folder", {{"folder", place.directory.string()}, {"reason", failure.message()}});
  if (root.empty() || end != root.end()) refuse("save: the prefix leaves the output folder");
  fs::create_directories(place.directory, failure);
  if (failure) throw Error(ErrorCode::invalid, "save: cannot make the folder", {{"folder", place.directory.string()}, {"reason", failure.message()}});
  return place;
}

// Upper and lower case are one where prefixes are compared, so that names stay distinct on every file system.
int64_t next_counter(const fs::path& directory, const std::string& stem) {
  const auto lower = [](std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  };
  int64_t highest = 0;
  std::error_code failure;
  const std::string want = lower(stem) + "_";
  for (const auto& entry : fs::directory_iterator(directory, failure)) {
    const std::string name = lower(entry.path().filename().string());
    if (!name.starts_with(want)) continue;
    int64_t number = 0;
    size_t at = want.size();
    for (; at < name.size() && at < want.size() + 15 && name[at] >= '0' && name[at] <= '9'; ++at) number = number * 10 + (name[at] - '0');
    if (at > want.size() && at < name.size() && name[at] == '_') highest = std::max(highest, number);
  }
  return highest + 1;
}

std::string numbered_name(const std::string& stem, int64_t counter, const std::string& extension) {
  std::string digits = std::to_string(counter);
  if (digits.size() < 5) digits.insert(0, 5 - digits.size(), '0');
  return stem + "_" + digits + "_" + extension;
}

}  // namespace veneer::nodes

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

std::string lower_case_name(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

void for_each_counter(const std::string& name, const std::function<void(const std::string& stem, int64_t number)>& each) {
  constexpr size_t kMostDigits = 15;
  const std::string text = lower_case_name(name);
  for (size_t mark = text.find('_'); mark != std::string::npos; mark = text.find('_', mark + 1)) {
    int64_t number = 0;
    size_t at = mark + 1;
    for (; at < text.size() && at <= mark + kMostDigits && text[at] >= '0' && text[at] <= '9'; ++at) number = number * 10 + (text[at] - '0');
    if (at > mark + 1 && at < text.size() && text[at] == '_') each(text.substr(0, mark), number);
  }
}

int64_t next_counter(const fs::path& directory, const std::string& stem) {
  int64_t highest = 0;
  std::error_code failure;
  const std::string want = lower_case_name(stem);
  for (const auto& entry : fs::directory_iterator(directory, failure)) {
    for_each_counter(entry.path().filename().string(), [&](const std::string& found, int64_t number) {
      if (found == want) highest = std::max(highest, number);
    });
  }
  return highest + 1;
}

std::string numbered_name(const std::string& stem, int64_t counter, const std::string& extension) {
  std::string digits = std::to_string(counter);
  if (digits.size() < 5) digits.insert(0, 5 - digits.size(), '0');
  return stem + "_" + digits + "_" + extension;
}

}  // namespace veneer::nodes

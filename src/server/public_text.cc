#include "server/public_text.h"

#include <algorithm>

#include "jobs/wire.h"

namespace veneer::server {
namespace {

namespace fs = std::filesystem;

bool part_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-' || c == '/';
}

// "n/srv" in JSON may be the end of a line and then a name.
bool begins_name(const std::string& text, size_t at) { return at == 0 || !part_of_name(text[at - 1]) || (at > 1 && text[at - 2] == '\\'); }

bool ends_name(char c) { return c == '/' || c == '"' || c == '\'' || c == ' ' || c == ')' || c == ',' || c == ';' || c == ':' || c == '\n'; }

// A text that goes on with more of a name names another folder.
void replace_all(std::string& text, const std::string& name, const std::string& kind) {
  size_t at = 0;
  while ((at = text.find(name, at)) != std::string::npos) {
    const size_t end = at + name.size();
    // A relative name may be a word like another, unless a file of the folder follows.
    const bool follows = name.starts_with('/') || (end < text.size() && text[end] == '/');
    if (follows && begins_name(text, at) && (end == text.size() || ends_name(text[end]) || text[end] == '\\')) {
      text.replace(at, name.size(), kind);
      at += kind.size();
    } else {
      at = end;
    }
  }
}

}  // namespace

PublicText::PublicText(const std::vector<std::pair<std::string, fs::path>>& folders) {
  const auto add = [this](const fs::path& folder, const std::string& kind) {
    std::string name = folder.lexically_normal().string();
    while (name.ends_with('/')) name.pop_back();
    if (name.empty()) return;
    // In JSON, letters beyond ASCII stand as escapes.
    const std::string quoted = jobs::wire_text(name);
    names_.emplace_back(quoted.substr(1, quoted.size() - 2), kind);
    if (names_.back().first != name) names_.emplace_back(std::move(name), kind);
  };
  for (const auto& [kind, folder] : folders) {
    if (folder.empty()) continue;
    if (folder.is_relative() && folder.lexically_normal() != ".") add(folder, kind);
    std::error_code failed;
    if (const fs::path absolute = fs::absolute(folder, failed); !failed) add(absolute, kind);
    if (const fs::path resolved = fs::weakly_canonical(folder, failed); !failed) add(resolved, kind);
  }
  std::stable_sort(names_.begin(), names_.end(), [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
}

std::string PublicText::operator()(std::string_view text) const {
  std::string out(text);
  for (const auto& [name, kind] : names_) replace_all(out, name, kind);
  return out;
}

}  // namespace veneer::server

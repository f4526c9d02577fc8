// PublicText: errors as clients may read them: names relative to the kind of folder, not where it lies on this machine.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace veneer::server {

// Immutable; any thread.
class PublicText {
 public:
  // `folders`: a kind and a folder of it. Each is known as it is given, under its absolute name and, where links lead elsewhere, under its resolved
  // one.
  explicit PublicText(const std::vector<std::pair<std::string, std::filesystem::path>>& folders);
  // The text with "/srv/pictures/output/a.png" as "output/a.png". Works on plain text and inside of JSON strings.
  std::string operator()(std::string_view text) const;

 private:
  std::vector<std::pair<std::string, std::string>> names_;  // absolute, kind; the longest first
};

}  // namespace veneer::server

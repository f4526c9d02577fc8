// The small page at "/" where no editor is installed.
#pragma once

#include <optional>
#include <string_view>

namespace veneer::server {

struct PageFile {
  std::string_view text, content_type;
};

// The file of that path ("/", "/page.js", "/page.css"), or nothing.
std::optional<PageFile> page_file(std::string_view path);

// The page that shows openapi.json, whether an editor is installed or not: "/docs" and the files that it needs.
std::optional<PageFile> docs_file(std::string_view path);

}  // namespace veneer::server

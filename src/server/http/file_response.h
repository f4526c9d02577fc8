// Files over HTTP: types, validators, ranges; and keeping paths inside of their folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/message.h"

namespace veneer::server {

// By extension; "application/octet-stream" for unknown ones.
std::string content_type_of(std::string_view name);

// Whether a browser would run what is in a file of this name: html, svg, scripts, ...
bool is_active_content(std::string_view name);

// The file with Etag, Last-Modified, Accept-Ranges, answering If-None-Match, If-Modified-Since and Range. 404 where there is no regular file.
Response file_response(const Request& request, const std::filesystem::path& file, const std::string& content_type);

// root/relative with links resolved, which must still lie in `root`; nothing otherwise, for an absolute path, and for one with a zero byte. The file
// need not exist.
std::optional<std::filesystem::path> contained(const std::filesystem::path& root, std::string_view relative);

// Why `contained` gives nothing though the path does not lead out: "" when it does, else what is wrong with the name, as a rule to tell.
std::string_view broken_name(std::string_view relative);
// The same as `contained`. Throws HttpError: 400 for a broken name, `status` with `message` for one that leads out.
std::filesystem::path require_contained(const std::filesystem::path& root, std::string_view relative, unsigned status, const char* message);

// Seconds since 1970, with fractions.
double modified_seconds(const std::filesystem::path& file);

std::string http_date(int64_t seconds);

}  // namespace veneer::server

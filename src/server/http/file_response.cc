#include "server/http/file_response.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <ctime>

#include "server/http/url.h"

namespace veneer::server {
namespace {

using Type = std::pair<std::string_view, std::string_view>;
constexpr std::array kTypes = {
    Type{"html", "text/html; charset=utf-8"},
    Type{"htm", "text/html; charset=utf-8"},
    Type{"xhtml", "application/xhtml+xml"},
    Type{"xml", "text/xml"},
    Type{"js", "application/javascript"},
    Type{"mjs", "application/javascript"},
    Type{"css", "text/css"},
    Type{"json", "application/json"},
    Type{"map", "application/json"},
    Type{"txt", "text/plain"},
    Type{"md", "text/markdown"},
    Type{"csv", "text/csv"},
    Type{"svg", "image/svg+xml"},
    Type{"png", "image/png"},
    Type{"jpg", "image/jpeg"},
    Type{"jpeg", "image/jpeg"},
    Type{"gif", "image/gif"},
    Type{"webp", "image/webp"},
    Type{"avif", "image/avif"},
    Type{"bmp", "image/bmp"},
    Type{"ico", "image/x-icon"},
    Type{"tif", "image/tiff"},
    Type{"tiff", "image/tiff"},
    Type{"ppm", "image/x-portable-pixmap"},
    Type{"pgm", "image/x-portable-graymap"},
    Type{"mp4", "video/mp4"},
    Type{"webm", "video/webm"},
    Type{"mov", "video/quicktime"},
    Type{"mp3", "audio/mpeg"},
    Type{"wav", "audio/x-wav"},
    Type{"ogg", "audio/ogg"},
    Type{"flac", "audio/flac"},
    Type{"glb", "model/gltf-binary"},
    Type{"woff", "font/woff"},
    Type{"woff2", "font/woff2"},
    Type{"ttf", "font/ttf"},
    Type{"wasm", "application/wasm"},
    Type{"pdf", "application/pdf"},
};
constexpr std::array<std::string_view, 12> kActive = {"html", "htm", "xhtml", "xht", "xml", "svg", "js", "mjs", "css", "pdf", "mht", "shtml"};

std::string extension_of(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? std::string() : lower_case(name.substr(dot + 1));
}

// A single range of a file of `size` bytes. nullopt: none was asked for, or one of a form that may be ignored.
struct Range {
  uint64_t first = 0, last = 0;
  bool bad = false;
};
std::optional<Range> parse_range(std::string_view text, uint64_t size) {
  if (!text.starts_with("bytes=") || text.find(',') != std::string_view::npos) return std::nullopt;
  text.remove_prefix(6);
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos) return Range{.bad = true};
  const std::string_view from = text.substr(0, dash);
  const std::string_view to = text.substr(dash + 1);
  const auto first = parse_integer(from);
  const auto last = parse_integer(to);
  if ((!from.empty() && (!first || *first < 0)) || (!to.empty() && (!last || *last < 0)) || (from.empty() && to.empty())) return Range{.bad = true};
  Range range;
  if (from.empty()) {
    const uint64_t count = std::min(static_cast<uint64_t>(*last), size);
    range = {.first = size - count, .last = size - 1, .bad = count == 0};
  } else {
    range.first = static_cast<uint64_t>(*first);
    range.last = to.empty() ? size - 1 : std::min(static_cast<uint64_t>(*last), size - 1);
    range.bad = range.first >= size || range.last < range.first;
  }
  return range;
}

bool not_modified(const Request& request, const std::string& etag, const std::string& date) {
  const std::string_view tags = request.header("if-none-match");
  if (!tags.empty()) return tags == "*" || tags.find(etag) != std::string_view::npos;
  const std::string_view since = request.header("if-modified-since");
  if (since.empty()) return false;
  std::tm asked{};
  std::tm have{};
  const char* format = "%a, %d %b %Y %H:%M:%S GMT";
  if (strptime(std::string(since).c_str(), format, &asked) == nullptr || strptime(date.c_str(), format, &have) == nullptr) return false;
  return timegm(&have) <= timegm(&asked);
}

}  // namespace

std::string content_type_of(std::string_view name) {
  const std::string extension = extension_of(name);
  const auto at = std::find_if(kTypes.begin(), kTypes.end(), [&](const Type& type) { return type.first == extension; });
  return at == kTypes.end() ? "application/octet-stream" : std::string(at->second);
}

bool is_active_content(std::string_view name) { return std::ranges::find(kActive, extension_of(name)) != kActive.end(); }

std::string http_date(int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 40> text{};
  std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return text.data();
}

double modified_seconds(const std::filesystem::path& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return 0;
  return static_cast<double>(info.st_mtim.tv_sec) + static_cast<double>(info.st_mtim.tv_nsec) * 1e-9;
}

Response file_response(const Request& request, const std::filesystem::path& file, const std::string& content_type) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return error_response(404, "not_found", "There is no such file");
  const auto size = static_cast<uint64_t>(info.st_size);
  std::array<char, 64> tag{};
  std::snprintf(tag.data(), tag.size(), "\"%llx-%llx\"",
                static_cast<unsigned long long>(info.st_mtim.tv_sec) * 1'000'000'000ULL + static_cast<unsigned long long>(info.st_mtim.tv_nsec),
                static_cast<unsigned long long>(size));
  Response response;
  response.set("Etag", tag.data());
  response.set("Last-Modified", http_date(info.st_mtim.tv_sec));
  response.set("Accept-Ranges", "bytes");
  response.set("Content-Type", content_type);
  if (not_modified(request, tag.data(), *response.find("Last-Modified"))) {
    response.status = 304;
    return response;
  }
  const std::optional<Range> range = parse_range(request.header("range"), size);
  FileBody body{file, 0, size};
  if (range && range->bad) {
    Response refused = error_response(416, "range", "The file does not have this range");
    refused.set("Content-Range", "bytes */" + std::to_string(size));
    return refused;
  }
  if (range) {
    response.status = 206;
    body.offset = range->first;
    body.length = range->last - range->first + 1;
    response.set("Content-Range", "bytes " + std::to_string(range->first) + "-" + std::to_string(range->last) + "/" + std::to_string(size));
  }
  response.file = std::move(body);
  return response;
}

std::string_view broken_name(std::string_view relative) {
  if (relative.find('\0') != std::string_view::npos) return "A name may not have a zero byte";
  if (relative.size() >= PATH_MAX) return "The name is too long: a path has at most 4095 bytes";
  for (const std::filesystem::path& part : std::filesystem::path(relative)) {
    if (part.native().size() > NAME_MAX) return "The name is too long: a part of a path has at most 255 bytes";
  }
  return {};
}

std::filesystem::path require_contained(const std::filesystem::path& root, std::string_view relative, unsigned status, const char* message) {
  constexpr size_t kShown = 200;
  const std::string shown(relative.substr(0, kShown));
  const std::string_view broken = broken_name(relative);
  if (!broken.empty()) throw HttpError(400, "invalid_name", std::string(broken), shown);
  if (auto file = contained(root, relative)) return *std::move(file);
  throw HttpError(status, status == 403 ? "forbidden" : "invalid_request", message, shown);
}

std::optional<std::filesystem::path> contained(const std::filesystem::path& root, std::string_view relative) {
  if (relative.find('\0') != std::string_view::npos) return std::nullopt;
  const std::filesystem::path below(relative);
  if (below.is_absolute()) return std::nullopt;
  std::error_code failed;
  const std::filesystem::path base = std::filesystem::weakly_canonical(std::filesystem::absolute(root), failed);
  if (failed) return std::nullopt;
  std::filesystem::path whole = std::filesystem::weakly_canonical(base / below, failed);
  if (failed) return std::nullopt;
  // "a/." and "a/" end with an empty part.
  const auto [base_end, rest] = std::mismatch(base.begin(), base.end(), whole.begin(), whole.end());
  if (base_end != base.end() && !base_end->empty()) return std::nullopt;
  return whole;
}

}  // namespace veneer::server

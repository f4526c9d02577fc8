// Files: the editor where it is installed, else a small page of the server's own.
#include <algorithm>
#include <array>
#include <fstream>

#include "server/comfy/routes.h"
#include "server/comfy/static_files.h"
#include "server/http/file_response.h"
#include "server/http/url.h"
#include "server/page/page.h"

namespace veneer::server {
namespace {

namespace fs = std::filesystem;

// By the end of the path, as ComfyUI's server does it.
void set_cache_headers(const std::string& path, Response& response) {
  const std::string lower = lower_case(path);
  const std::string last = path.substr(path.rfind('/') + 1);
  if (path == "/") {
    response.set("Cache-Control", "no-cache");
    response.set("Pragma", "no-cache");
    response.set("Expires", "0");
  } else if (path.ends_with(".js") || path.ends_with(".css") || (last.starts_with("index") && last.ends_with(".json"))) {
    response.set("Cache-Control", "no-cache");
  } else {
    constexpr std::array<std::string_view, 9> kPictures = {".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp"};
    const bool picture = std::ranges::any_of(kPictures, [&](std::string_view ending) { return lower.ends_with(ending); });
    if (picture && response.status < 400) response.set("Cache-Control", "public, max-age=86400");
  }
}

Response not_found(const Request& request) { return error_response(404, "not_found", "There is nothing at this address", request.path); }

Response file_below(const Request& request, const fs::path& root, const std::string& relative) {
  const auto file = contained(root, relative);
  if (!file) return not_found(request);
  return file_response(request, *file, content_type_of(file->filename().string()));
}

// A page of the server's own. Nothing of it comes from elsewhere.
Response own_page(const PageFile& own) {
  Response response = text_response(std::string(own.text), std::string(own.content_type));
  response.set("Content-Security-Policy", "default-src 'self'; img-src 'self' blob: data:; connect-src 'self' ws: wss:; frame-ancestors 'none'");
  return response;
}

// The editor's template dialog asks for lists, and takes what is no JSON for a fault of the server.
Response template_file(const Request& request, const std::string& path, const Services& services) {
  const std::string name = path.size() > 11 ? path.substr(11) : "";
  Response response = services.options.templates_folder.empty() ? not_found(request) : file_below(request, services.options.templates_folder, name);
  const bool list = name.starts_with("index") && name.ends_with(".json") && name.find('/') == std::string::npos;
  return list && response.status == 404 ? json_text_response("[]") : response;
}

Response serve(const Request& request, const Services& services) {
  const std::string path = percent_decode(request.path);
  Response response;
  if (path == "/templates" || path.starts_with("/templates/")) {
    response = template_file(request, path, services);
  } else if (const auto docs = docs_file(path)) {
    response = own_page(*docs);
  } else if (has_frontend(services.options)) {
    response = path.starts_with("//") ? not_found(request)
                                      : file_below(request, frontend_folder(services.options), path == "/" ? "index.html" : path.substr(1));
  } else if (const auto own = page_file(path)) {
    response = own_page(*own);
  } else {
    response = not_found(request);
  }
  set_cache_headers(request.path, response);
  return response;
}

}  // namespace

fs::path frontend_folder(const ServerOptions& options) {
  return options.frontend_folder.empty() ? options.data_folder / "frontend" : options.frontend_folder;
}

bool has_frontend(const ServerOptions& options) { return fs::is_regular_file(frontend_folder(options) / "index.html"); }

std::string installed_frontend_version(const ServerOptions& options) {
  std::ifstream in(frontend_folder(options) / ".veneer-version");
  std::string version;
  std::getline(in, version);
  return version;
}

std::vector<std::string> extension_scripts(const ServerOptions& options) {
  std::vector<std::string> scripts;
  const fs::path root = frontend_folder(options);
  std::error_code failed;
  for (fs::recursive_directory_iterator at(root / "extensions", failed), end; at != end && !failed; at.increment(failed)) {
    if (at->path().extension() == ".js") scripts.push_back("/" + at->path().lexically_relative(root).generic_string());
  }
  std::sort(scripts.begin(), scripts.end());
  return scripts;
}

void add_static_routes(Router& router, Services& services) {
  router.fallback([&](const Request& request) { return serve(request, services); });
}

}  // namespace veneer::server

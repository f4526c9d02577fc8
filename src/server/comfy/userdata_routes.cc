// /userdata: files that the editor keeps for its user.
#include <algorithm>

#include "engine/written_file.h"
#include "server/comfy/routes.h"
#include "server/http/file_response.h"
#include "server/http/url.h"

namespace veneer::server {
namespace {

namespace fs = std::filesystem;

bool is_true(const Request& request, const char* name) {
  const std::string* value = request.find_query(name);
  return value != nullptr && equals_ignoring_case(*value, "true");
}

// The user's file; a percent sign that is left in the name is decoded once more. Throws HttpError(403) for one outside of the user's folder, and for
// the folder itself.
fs::path resolve(const fs::path& root, const std::string& name) {
  const char* outside = "The file lies outside of the user's folder";
  fs::path file = require_contained(root, name.find('%') == std::string::npos ? name : percent_decode(name), 403, outside);
  const fs::path base = require_contained(root, "", 403, outside);
  if (file == base || (file.parent_path() == base && file.filename().empty())) throw HttpError(403, "forbidden", outside, name);
  return file;
}

std::string relative_to(const fs::path& file, const fs::path& root) { return file.lexically_relative(*contained(root, "")).generic_string(); }

Json describe(const fs::path& file, const std::string& shown) {
  const double modified = modified_seconds(file);
  std::error_code failed;
  return {{"path", shown}, {"size", fs::file_size(file, failed)}, {"modified", modified}, {"created", modified}};
}

std::vector<fs::path> files_in(const fs::path& directory, bool recurse) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(directory, failed), end; at != end && !failed; at.increment(failed)) {
    if (!recurse) at.disable_recursion_pending();
    std::error_code ignored;
    if (at->is_regular_file(ignored)) files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Response list(const Request& request, const Services& services) {
  const fs::path root = services.users.folder_of(request);
  const std::string* dir = request.find_query("dir");
  if (dir == nullptr || dir->empty()) throw HttpError(400, "invalid_request", "Directory not provided");
  const fs::path directory = require_contained(root, *dir, 403, "Invalid directory");
  if (!fs::is_directory(directory)) throw HttpError(404, "not_found", "Directory not found", *dir);
  Json list = Json::array();
  for (const fs::path& file : files_in(directory, is_true(request, "recurse"))) {
    const fs::path below = file.lexically_relative(directory.has_filename() ? directory : directory.parent_path());
    if (is_true(request, "full_info")) {
      list.push_back(describe(file, below.generic_string()));
    } else if (is_true(request, "split")) {
      Json parts = {below.generic_string()};
      for (const fs::path& part : below) parts.push_back(part.string());
      list.push_back(std::move(parts));
    } else {
      list.push_back(below.generic_string());
    }
  }
  return json_response(list);
}

Response list_all(const Request& request, const Services& services) {
  const fs::path root = services.users.folder_of(request);
  const std::string* path = request.find_query("path");
  const fs::path directory = require_contained(root, path == nullptr ? "" : *path, 400, "Invalid path requested");
  if (!fs::exists(directory)) throw HttpError(404, "not_found", "Requested path not found");
  if (!fs::is_directory(directory)) throw HttpError(400, "invalid_request", "Requested path is not a directory");
  struct Entry {
    bool file;
    std::string key;
    Json json;
  };
  std::vector<Entry> entries;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(directory, failed), end; at != end && !failed; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    const bool file = at->is_regular_file(ignored);
    if (!file && !at->is_directory(ignored)) continue;
    Json json = {{"name", name}, {"path", relative_to(at->path(), root)}, {"type", file ? "file" : "directory"}};
    if (file) {
      json["size"] = at->file_size(ignored);
      json["modified"] = modified_seconds(at->path());
    }
    entries.push_back({file, lower_case(name), std::move(json)});
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return std::tie(a.file, a.key) < std::tie(b.file, b.key); });
  Json list = Json::array();
  for (Entry& entry : entries) list.push_back(std::move(entry.json));
  return json_response(list);
}

Response get_file(const Request& request, const Services& services) {
  const fs::path file = resolve(services.users.folder_of(request), request.parts.at(0));
  if (fs::is_directory(file)) throw HttpError(403, "forbidden", "This is a directory", request.parts.at(0));
  const std::string name = file.filename().string();
  // The editor asks for user.css as a style sheet of its own; what could run as a page does not.
  const std::string type = content_type_of(name);
  const bool page = is_active_content(name) && type != "text/css" && type != "application/javascript";
  Response response = file_response(request, file, page ? "application/octet-stream" : type);
  if (page && response.status < 400) response.set("Content-Disposition", "attachment");
  return response;
}

Response answer(const Request& request, const fs::path& file, const fs::path& root) {
  const std::string shown = relative_to(file, root);
  return json_response(is_true(request, "full_info") ? describe(file, shown) : Json(shown));
}

bool keeps_existing(const Request& request) {
  const std::string* overwrite = request.find_query("overwrite");
  return overwrite != nullptr && *overwrite == "false";
}

Response post_file(const Request& request, const Services& services) {
  const fs::path root = services.users.folder_of(request);
  const fs::path file = resolve(root, request.parts.at(0));
  if (fs::is_directory(file)) throw HttpError(400, "invalid_request", "A directory has this name", request.parts.at(0));
  std::error_code failed;
  fs::create_directories(file.parent_path(), failed);
  if (failed == std::errc::no_space_on_device) throw HttpError(507, "storage", "The disk is full: the file was not written");
  if (failed) throw HttpError(400, "invalid_request", "The directory cannot be made", failed.message());
  if (!keeps_existing(request)) {
    engine::write_whole(file, request.body);
  } else if (!engine::write_new(file, request.body)) {
    throw HttpError(409, "conflict", "File already exists");
  }
  return answer(request, file, root);
}

Response delete_file(const Request& request, const Services& services) {
  const fs::path file = resolve(services.users.folder_of(request), request.parts.at(0));
  if (fs::is_directory(file)) throw HttpError(400, "invalid_request", "This is a directory", request.parts.at(0));
  std::error_code failed;
  if (!fs::remove(file, failed)) throw HttpError(404, "not_found", "There is no such file");
  return empty_response(204);
}

Response move_file(const Request& request, const Services& services) {
  const fs::path root = services.users.folder_of(request);
  const fs::path from = resolve(root, request.parts.at(0));
  const fs::path to = resolve(root, request.parts.at(1));
  if (!fs::is_regular_file(from)) throw HttpError(404, "not_found", "There is no such file");
  if (fs::is_directory(to)) throw HttpError(400, "invalid_request", "A directory has this name", request.parts.at(1));
  if (keeps_existing(request) && fs::exists(to)) throw HttpError(409, "conflict", "File already exists");
  std::error_code failed;
  fs::create_directories(to.parent_path(), failed);
  fs::rename(from, to, failed);
  if (failed) throw HttpError(400, "invalid_request", "The file cannot be moved", failed.message());
  return answer(request, to, root);
}

}  // namespace

void add_userdata_routes(Router& router, Services& services) {
  router.get("/userdata", [&](const Request& request) { return list(request, services); });
  router.get("/v2/userdata", [&](const Request& request) { return list_all(request, services); });
  router.get("/userdata/{file}", [&](const Request& request) { return get_file(request, services); });
  router.post("/userdata/{file}", [&](const Request& request) { return post_file(request, services); });
  router.add("DELETE", "/userdata/{file}", [&](const Request& request) { return delete_file(request, services); });
  router.post("/userdata/{file}/move/{dest}", [&](const Request& request) { return move_file(request, services); });
}

}  // namespace veneer::server

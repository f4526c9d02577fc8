#include "server/users/user_store.h"

#include <fstream>
#include <sstream>

#include "engine/written_file.h"
#include "graph/json_text.h"
#include "jobs/uuid.h"
#include "veneer/error.h"

namespace veneer::server {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxFileBytes = uint64_t{64} << 20;
constexpr size_t kMaxName = 128;
constexpr char kSettings[] = "comfy.settings.json";

Json read_object(const fs::path& file) {
  std::error_code failed;
  if (fs::file_size(file, failed) > kMaxFileBytes || failed) return Json::object();
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  try {
    Json json = graph::parse_json(text.str());
    return json.is_object() ? json : Json::object();
  } catch (const Error&) {
    return Json::object();
  }
}

// Of a name what may stand in a folder's name.
std::string sanitised(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    out += plain ? c : '-';
  }
  while (out.starts_with('.')) out.erase(0, 1);
  return out;
}

}  // namespace

bool UserStore::has_default_folder() const { return fs::is_directory(folder_ / "default"); }

Json UserStore::read_users() const { return read_object(folder_ / "users.json"); }

Json UserStore::users() const {
  const std::lock_guard lock(mutex_);
  return read_users();
}

std::string UserStore::add(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const std::string plain = sanitised(name);
  if (plain.empty() || name.find_first_not_of(" \t\r\n") == std::string::npos || name.size() > kMaxName) {
    throw HttpError(400, "invalid_request", "The user's name is blank or too long");
  }
  Json users = read_users();
  for (const auto& [id, known] : users.items()) {
    if (known == name) throw HttpError(400, "duplicate", "Duplicate username.");
  }
  std::string id = plain + "_" + jobs::make_uuid();
  users[id] = name;
  fs::create_directories(folder_);
  engine::write_whole(folder_ / "users.json", users.dump(4, ' ', false, Json::error_handler_t::replace));
  return id;
}

fs::path UserStore::folder_of(const Request& request) const {
  if (!multi_user_) return folder_ / "default";
  if (!request.owner.empty()) return folder_ / sanitised(request.owner);
  const std::string id(request.header("comfy-user"));
  const Json known = users();
  if (id.empty() || !known.contains(id)) throw HttpError(401, "unauthorized", "There is no such user", id);
  return folder_ / sanitised(id);
}

Json UserStore::settings(const fs::path& user_folder) const {
  const std::lock_guard lock(mutex_);
  return read_object(user_folder / kSettings);
}

void UserStore::merge_settings(const fs::path& user_folder, const Json& changes) {
  const std::lock_guard lock(mutex_);
  Json settings = read_object(user_folder / kSettings);
  for (const auto& [name, value] : changes.items()) settings[name] = value;
  fs::create_directories(user_folder);
  engine::write_whole(user_folder / kSettings, settings.dump(4, ' ', false, Json::error_handler_t::replace));
}

}  // namespace veneer::server

// UserStore: users, their settings and their folders of files.
#pragma once

#include <filesystem>
#include <mutex>
#include <string>

#include "server/http/message.h"

namespace veneer::server {

// All members may be called from any thread. Files are written whole or not at all.
class UserStore {
 public:
  // `folder` holds one folder per user, and users.json.
  UserStore(std::filesystem::path folder, bool multi_user) : folder_(std::move(folder)), multi_user_(multi_user) {}

  bool multi_user() const { return multi_user_; }
  // Whether the folder of the only user is there.
  bool has_default_folder() const;
  // id -> name.
  Json users() const;
  // Returns the new user's id. Throws HttpError(400) for a name that is blank or taken.
  std::string add(const std::string& name);

  // The folder of the user who asks: of the API key's owner where there are keys and several users, else by the header comfy-user. Throws
  // HttpError(401) for an unknown user. The folder need not exist.
  std::filesystem::path folder_of(const Request& request) const;

  // {} when there are none, or the file is broken.
  Json settings(const std::filesystem::path& user_folder) const;
  // Adds and replaces members.
  void merge_settings(const std::filesystem::path& user_folder, const Json& changes);

 private:
  Json read_users() const;
  const std::filesystem::path folder_;
  const bool multi_user_;
  mutable std::mutex mutex_;
};

}  // namespace veneer::server

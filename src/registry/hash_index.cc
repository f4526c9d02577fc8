#include "registry/hash_index.h"

#include <map>
#include <mutex>
#include <utility>

#include "formats/sha256.h"
#include "registry/file_identity.h"
#include "registry/sqlite_database.h"
#include "veneer/error.h"

namespace veneer::registry {
namespace {

namespace fs = std::filesystem;

// An older table, "files", lacks the time of the last change; what is in it is not known any more.
constexpr const char* kCreate =
    "CREATE TABLE IF NOT EXISTS model_files(path TEXT PRIMARY KEY, device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL, "
    "modified_ns INTEGER NOT NULL, changed_ns INTEGER NOT NULL, sha256 TEXT NOT NULL)";
constexpr const char* kIndex = "CREATE INDEX IF NOT EXISTS model_files_identity ON model_files(device, inode, size, modified_ns, changed_ns)";
constexpr const char* kPut = "INSERT OR REPLACE INTO model_files VALUES(?, ?, ?, ?, ?, ?, ?)";
constexpr const char* kGet = "SELECT sha256 FROM model_files WHERE device = ? AND inode = ? AND size = ? AND modified_ns = ? AND changed_ns = ?";
constexpr const char* kFind = "SELECT path, size, sha256 FROM model_files WHERE substr(sha256, 1, length(?)) = ? ORDER BY path";
constexpr const char* kAll = "SELECT path, device, inode, size, modified_ns, changed_ns FROM model_files";
constexpr const char* kDelete = "DELETE FROM model_files WHERE path = ?";

int64_t number(uint64_t value) { return static_cast<int64_t>(value); }
const std::string& text_of(const SqliteDatabase::Cell& cell) { return std::get<std::string>(cell); }
int64_t number_of(const SqliteDatabase::Cell& cell) { return std::get<int64_t>(cell); }

bool is_hash(const std::string& text) { return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos; }

// Links to one file are one file.
std::string place_of(const fs::path& file) {
  std::error_code unknown;
  const fs::path canonical = fs::canonical(file, unknown);
  return unknown ? file.string() : canonical.string();
}

}  // namespace

struct HashIndex::State {
  struct Known {
    FileIdentity identity;
    std::string sha256;
  };

  mutable std::mutex mutex;
  fs::path path;
  std::unique_ptr<SqliteDatabase> database;  // null while there is none
  std::string notice;
  std::map<std::string, Known> memory;  // path -> what this process knows

  // Runs `use` on the database. One that fails is let go for good.
  template <typename Use>
  void with_database(bool create, Use use) {
    if (path.empty() || !notice.empty()) return;
    try {
      if (!database) {
        std::error_code unknown;
        if (!create && !fs::exists(path, unknown)) return;
        fs::create_directories(path.parent_path(), unknown);
        database = std::make_unique<SqliteDatabase>(path);
        database->run(kCreate);
        database->run(kIndex);
      }
      use(*database);
    } catch (const Error& error) {
      notice = error.what();
    } catch (const std::bad_variant_access&) {
      notice = "index: the database has another form: file=" + path.string();
    }
    if (!notice.empty()) database.reset();
  }

  std::optional<std::string> look_up(const std::string& place, const FileIdentity& id) {
    const auto it = memory.find(place);
    if (it != memory.end() && it->second.identity == id) return it->second.sha256;
    std::optional<std::string> found;
    with_database(false, [&](SqliteDatabase& db) {
      const auto rows = db.run(kGet, {number(id.device), number(id.inode), number(id.size_bytes), id.modified_ns, id.changed_ns});
      if (!rows.empty() && is_hash(text_of(rows.front().at(0)))) found = text_of(rows.front().at(0));
    });
    if (found) memory[place] = {id, *found};
    return found;
  }

  void store(const std::string& place, const FileIdentity& id, const std::string& sha256) {
    memory[place] = {id, sha256};
    with_database(true, [&](SqliteDatabase& db) {
      db.run(kPut, {place, number(id.device), number(id.inode), number(id.size_bytes), id.modified_ns, id.changed_ns, sha256});
    });
  }
};

HashIndex::HashIndex(fs::path database) : state_(std::make_unique<State>()) { state_->path = std::move(database); }
HashIndex::~HashIndex() = default;

std::optional<std::string> HashIndex::known(const fs::path& file) {
  const FileIdentity id = identify(file);
  const std::lock_guard lock(state_->mutex);
  return state_->look_up(place_of(file), id);
}

std::string HashIndex::hash(const fs::path& file, const Progress& progress, bool anew) {
  const FileIdentity before = identify(file);
  const std::string place = place_of(file);
  if (!anew) {
    const std::lock_guard lock(state_->mutex);
    if (auto found = state_->look_up(place, before)) {
      state_->store(place, before, *found);  // under the name that it has now
      return *found;
    }
  }
  std::string sha256 = formats::sha256_hex_of_file(file, progress);
  if (identify(file) != before) throw Error(ErrorCode::corrupt, "model: the file changed while it was read", {{"file", file.string()}});
  const std::lock_guard lock(state_->mutex);
  state_->store(place, before, sha256);
  return sha256;
}

std::vector<HashIndex::Row> HashIndex::find(const std::string& prefix) {
  const std::lock_guard lock(state_->mutex);
  std::map<std::string, Row> rows;
  state_->with_database(false, [&](SqliteDatabase& db) {
    for (const auto& row : db.run(kFind, {prefix, prefix})) {
      rows[text_of(row.at(0))] = {text_of(row.at(0)), static_cast<uint64_t>(number_of(row.at(1))), text_of(row.at(2))};
    }
  });
  for (const auto& [path, known] : state_->memory) {
    if (known.sha256.starts_with(prefix)) rows[path] = {path, known.identity.size_bytes, known.sha256};
  }
  std::vector<Row> out;
  for (auto& [path, row] : rows) out.push_back(std::move(row));
  return out;
}

bool HashIndex::still_valid(const Row& row) {
  std::error_code unknown;
  return fs::is_regular_file(row.path, unknown) && known(row.path) == row.sha256;
}

size_t HashIndex::collect() {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::string> gone;
  state_->with_database(false, [&](SqliteDatabase& db) {
    for (const auto& row : db.run(kAll)) {
      FileIdentity now;
      try {
        now = identify(text_of(row.at(0)));
      } catch (const Error&) {
        now = {};
      }
      const FileIdentity then{static_cast<uint64_t>(number_of(row.at(1))), static_cast<uint64_t>(number_of(row.at(2))),
                              static_cast<uint64_t>(number_of(row.at(3))), number_of(row.at(4)), number_of(row.at(5))};
      if (now != then) gone.push_back(text_of(row.at(0)));
    }
    for (const std::string& path : gone) db.run(kDelete, {path});
  });
  for (const std::string& path : gone) state_->memory.erase(path);
  return gone.size();
}

std::string HashIndex::notice() const {
  const std::lock_guard lock(state_->mutex);
  return state_->notice;
}

}  // namespace veneer::registry

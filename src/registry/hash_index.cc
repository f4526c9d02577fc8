#include "registry/hash_index.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "formats/sha256.h"
#include "registry/file_identity.h"
#include "registry/sqlite_database.h"
#include "veneer/error.h"

namespace veneer::registry {
namespace {

namespace fs = std::filesystem;

// A table is of whole files or of their tensors. Older ones ("files") lack the time of the last change; what is in them is not known any more.
struct TableDef {
  const char* name;
};
constexpr TableDef kWhole{"model_files"}, kTensors{"model_tensors"};

std::string create_sql(const TableDef& table) {
  return "CREATE TABLE IF NOT EXISTS " + std::string(table.name) +
         "(path TEXT PRIMARY KEY, device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL, modified_ns INTEGER NOT NULL, "
         "changed_ns INTEGER NOT NULL, sha256 TEXT NOT NULL)";
}
std::string create_index_sql(const TableDef& table) {
  const std::string name = table.name;
  return "CREATE INDEX IF NOT EXISTS " + name + "_identity ON " + name + "(device, inode, size, modified_ns, changed_ns)";
}
std::string put_sql(const TableDef& table) { return "INSERT OR REPLACE INTO " + std::string(table.name) + " VALUES(?, ?, ?, ?, ?, ?, ?)"; }
std::string get_sql(const TableDef& table) {
  return "SELECT sha256 FROM " + std::string(table.name) + " WHERE device = ? AND inode = ? AND size = ? AND modified_ns = ? AND changed_ns = ?";
}
std::string all_sql(const TableDef& table) { return "SELECT path, device, inode, size, modified_ns, changed_ns FROM " + std::string(table.name); }
std::string delete_sql(const TableDef& table) { return "DELETE FROM " + std::string(table.name) + " WHERE path = ?"; }
constexpr const char* kFind = "SELECT path, size, sha256 FROM model_files WHERE substr(sha256, 1, length(?)) = ? ORDER BY path";

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
  // Path -> what this process knows.
  using Memory = std::map<std::string, Known>;
  Memory whole, tensors;
  Memory& memory_of(const TableDef& table) { return table.name == kWhole.name ? whole : tensors; }

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
        for (const TableDef& table : {kWhole, kTensors}) {
          database->run(create_sql(table).c_str());
          database->run(create_index_sql(table).c_str());
        }
      }
      use(*database);
    } catch (const Error& error) {
      notice = error.what();
    } catch (const std::bad_variant_access&) {
      notice = "index: the database has another form: file=" + path.string();
    }
    if (!notice.empty()) database.reset();
  }

  std::optional<std::string> look_up(const TableDef& table, const std::string& place, const FileIdentity& id) {
    Memory& memory = memory_of(table);
    const auto it = memory.find(place);
    if (it != memory.end() && it->second.identity == id) return it->second.sha256;
    std::optional<std::string> found;
    with_database(false, [&](SqliteDatabase& db) {
      const auto rows = db.run(get_sql(table).c_str(), {number(id.device), number(id.inode), number(id.size_bytes), id.modified_ns, id.changed_ns});
      if (!rows.empty() && is_hash(text_of(rows.front().at(0)))) found = text_of(rows.front().at(0));
    });
    if (found) memory[place] = {id, *found};
    return found;
  }

  void store(const TableDef& table, const std::string& place, const FileIdentity& id, const std::string& sha256) {
    memory_of(table)[place] = {id, sha256};
    with_database(true, [&](SqliteDatabase& db) {
      db.run(put_sql(table).c_str(), {place, number(id.device), number(id.inode), number(id.size_bytes), id.modified_ns, id.changed_ns, sha256});
    });
  }

  // What is known, or else computed from `begin` on. `look`: whether what is known counts.
  std::string hash(const TableDef& table, const fs::path& file, uint64_t begin, const Progress& progress, bool look) {
    const FileIdentity before = identify(file);
    const std::string place = place_of(file);
    if (look) {
      const std::lock_guard lock(mutex);
      if (auto found = look_up(table, place, before)) {
        store(table, place, before, *found);  // under the name that it has now
        return *found;
      }
    }
    std::string sha256 = formats::sha256_hex_of_file(file, progress, begin);
    if (identify(file) != before) {
      throw Error(ErrorCode::invalid, "model: the file changed while it was read", {{"file", file.string()}, {"busy", "true"}});
    }
    const std::lock_guard lock(mutex);
    store(table, place, before, sha256);
    return sha256;
  }

  // Forgets the files of a table that are gone or were changed. How many.
  size_t collect(const TableDef& table) {
    std::vector<std::string> gone;
    with_database(false, [&](SqliteDatabase& db) {
      for (const auto& row : db.run(all_sql(table).c_str())) {
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
      for (const std::string& file : gone) db.run(delete_sql(table).c_str(), {file});
    });
    for (const std::string& file : gone) memory_of(table).erase(file);
    return gone.size();
  }
};

HashIndex::HashIndex(fs::path database) : state_(std::make_unique<State>()) { state_->path = std::move(database); }
HashIndex::~HashIndex() = default;

std::optional<std::string> HashIndex::known(const fs::path& file) {
  const FileIdentity id = identify(file);
  const std::lock_guard lock(state_->mutex);
  return state_->look_up(kWhole, place_of(file), id);
}

std::string HashIndex::hash(const fs::path& file, const Progress& progress, bool anew) { return state_->hash(kWhole, file, 0, progress, !anew); }

std::string HashIndex::hash_behind(const fs::path& file, uint64_t begin, const Progress& progress, bool anew) {
  return state_->hash(kTensors, file, begin, progress, !anew);
}

std::vector<HashIndex::Row> HashIndex::find(const std::string& prefix) {
  const std::lock_guard lock(state_->mutex);
  std::map<std::string, Row> rows;
  state_->with_database(false, [&](SqliteDatabase& db) {
    for (const auto& row : db.run(kFind, {prefix, prefix})) {
      rows[text_of(row.at(0))] = {text_of(row.at(0)), static_cast<uint64_t>(number_of(row.at(1))), text_of(row.at(2))};
    }
  });
  for (const auto& [path, known] : state_->whole) {
    if (known.sha256.starts_with(prefix)) rows[path] = {path, known.identity.size_bytes, known.sha256};
  }
  std::vector<Row> out;
  out.reserve(rows.size());
  for (auto& [path, row] : rows) out.push_back(std::move(row));
  return out;
}

bool HashIndex::still_valid(const Row& row) {
  std::error_code unknown;
  return fs::is_regular_file(row.path, unknown) && known(row.path) == row.sha256;
}

size_t HashIndex::collect() {
  const std::lock_guard lock(state_->mutex);
  state_->collect(kTensors);
  return state_->collect(kWhole);
}

std::string HashIndex::notice() const {
  const std::lock_guard lock(state_->mutex);
  return state_->notice;
}

}  // namespace veneer::registry

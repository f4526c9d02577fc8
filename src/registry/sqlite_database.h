// SQLite's C interface in the shape that the index needs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <variant>
#include <vector>

struct sqlite3;

namespace veneer::registry {

// One connection, in write-ahead mode, which waits for other processes. Not thread-safe. Every failure is an Error(invalid) naming the file and
// SQLite's own words.
class SqliteDatabase {
 public:
  using Cell = std::variant<int64_t, std::string>;
  using Row = std::vector<Cell>;

  // Opens or makes it.
  explicit SqliteDatabase(const std::filesystem::path& path);
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  // One statement, '?' for the values. Its rows; columns are numbers or texts.
  std::vector<Row> run(const char* sql, std::initializer_list<Cell> values = {});

 private:
  [[noreturn]] void fail(const char* what) const;
  std::filesystem::path path_;
  sqlite3* handle_ = nullptr;
};

}  // namespace veneer::registry

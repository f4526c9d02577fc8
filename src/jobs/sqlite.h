// SQLite as values: a connection and prepared statements that close themselves and throw what fails.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace veneer::jobs {

// One connection; one thread at a time.
class Sqlite {
 public:
  // Opens or makes the file. Throws Error(invalid) naming it when that fails, Error(corrupt) when it is no database.
  explicit Sqlite(const std::filesystem::path& file);
  void run(const char* sql);
  // Rows that the last statement changed.
  int changes() const { return sqlite3_changes(handle_.get()); }
  sqlite3* handle() const { return handle_.get(); }
  // Throws what the connection's last failure was.
  [[noreturn]] void fail(const char* what) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  std::string file_;
  std::unique_ptr<sqlite3, Close> handle_;
};

// A prepared statement, to be used again and again: bind in order, step, reset.
class Statement {
 public:
  Statement(const Sqlite& connection, std::string_view sql);
  Statement& bind(int64_t value);
  Statement& bind(double value);
  Statement& bind(std::string_view value);  // must live until the statement is reset
  // Whether there is a row to read. Resets itself after the last one.
  bool step();
  // Runs a statement without rows.
  void run();
  void reset();

  int64_t integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }
  double number(int column) const { return sqlite3_column_double(handle_.get(), column); }
  std::string text(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }
  };
  const Sqlite& connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
  int bound_ = 0;
};

}  // namespace veneer::jobs

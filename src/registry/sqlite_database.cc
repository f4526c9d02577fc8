#include "registry/sqlite_database.h"

#include <sqlite3.h>

#include "veneer/error.h"

namespace veneer::registry {
namespace {

// Another process holds the database only for single statements.
constexpr int kWaitMs = 10'000;

struct Finalise {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

SqliteDatabase::Cell cell(sqlite3_stmt* statement, int column) {
  if (sqlite3_column_type(statement, column) == SQLITE_INTEGER) return static_cast<int64_t>(sqlite3_column_int64(statement, column));
  const unsigned char* text = sqlite3_column_text(statement, column);
  if (text == nullptr) return std::string();
  return std::string(reinterpret_cast<const char*>(text), static_cast<size_t>(sqlite3_column_bytes(statement, column)));
}

}  // namespace

SqliteDatabase::SqliteDatabase(const std::filesystem::path& path) : path_(path) {
  if (sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr) != SQLITE_OK) {
    const std::string reason = handle_ == nullptr ? "out of memory" : sqlite3_errmsg(handle_);
    sqlite3_close(handle_);
    throw Error(ErrorCode::invalid, "index: cannot open the database", {{"file", path.string()}, {"reason", reason}});
  }
  try {
    sqlite3_busy_timeout(handle_, kWaitMs);
    run("PRAGMA journal_mode=WAL");
    run("PRAGMA synchronous=NORMAL");
  } catch (const Error&) {
    sqlite3_close(handle_);
    throw;
  }
}

SqliteDatabase::~SqliteDatabase() { sqlite3_close(handle_); }

void SqliteDatabase::fail(const char* what) const {
  throw Error(ErrorCode::invalid, what, {{"file", path_.string()}, {"reason", sqlite3_errmsg(handle_)}});
}

std::vector<SqliteDatabase::Row> SqliteDatabase::run(const char* sql, std::initializer_list<Cell> values) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(handle_, sql, -1, &raw, nullptr) != SQLITE_OK) fail("index: cannot read the database");
  const std::unique_ptr<sqlite3_stmt, Finalise> statement(raw);
  int index = 0;
  for (const Cell& value : values) {
    ++index;
    const auto* number = std::get_if<int64_t>(&value);
    const std::string* text = std::get_if<std::string>(&value);
    // The values outlive the statement, so SQLite need not copy them.
    const int bound = number != nullptr ? sqlite3_bind_int64(raw, index, *number)
                                        : sqlite3_bind_text64(raw, index, text->data(), text->size(), nullptr, SQLITE_UTF8);
    if (bound != SQLITE_OK) fail("index: cannot use a value");
  }
  std::vector<Row> rows;
  while (true) {
    const int result = sqlite3_step(raw);
    if (result == SQLITE_DONE) return rows;
    if (result != SQLITE_ROW) fail("index: cannot use the database");
    Row row;
    for (int column = 0; column < sqlite3_column_count(raw); ++column) row.push_back(cell(raw, column));
    rows.push_back(std::move(row));
  }
}

}  // namespace veneer::registry

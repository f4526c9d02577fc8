#include "jobs/sqlite.h"

#include <algorithm>
#include <array>

#include "veneer/error.h"

namespace veneer::jobs {

Sqlite::Sqlite(const std::filesystem::path& file) : file_(file.string()) {
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(file_.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) fail("the job database cannot be opened");
  sqlite3_busy_timeout(handle_.get(), 10'000);
}

void Sqlite::fail(const char* what) const {
  const int code = handle_ == nullptr ? SQLITE_NOMEM : sqlite3_errcode(handle_.get());
  const bool corrupt = code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
  const char* reason = handle_ == nullptr ? "out of memory" : sqlite3_errmsg(handle_.get());
  Error error(corrupt ? ErrorCode::corrupt : ErrorCode::invalid, what, {{"file", file_}, {"reason", reason}});
  // Faults of the file system, which may pass.
  constexpr std::array kStorage = {SQLITE_FULL, SQLITE_IOERR, SQLITE_BUSY, SQLITE_LOCKED, SQLITE_NOMEM, SQLITE_READONLY, SQLITE_CANTOPEN};
  if (std::find(kStorage.begin(), kStorage.end(), code & 0xFF) != kStorage.end()) error = error.with("storage", sqlite3_errstr(code));
  throw error;
}

void Sqlite::run(const char* sql) {
  if (sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail("the job database refuses a statement");
}

Statement::Statement(const Sqlite& connection, std::string_view sql) : connection_(connection) {
  sqlite3_stmt* handle = nullptr;
  if (sqlite3_prepare_v3(connection.handle(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &handle, nullptr) != SQLITE_OK) {
    connection.fail("the job database refuses a statement");
  }
  handle_.reset(handle);
}

Statement& Statement::bind(int64_t value) {
  sqlite3_bind_int64(handle_.get(), ++bound_, value);
  return *this;
}

Statement& Statement::bind(double value) {
  sqlite3_bind_double(handle_.get(), ++bound_, value);
  return *this;
}

Statement& Statement::bind(std::string_view value) {
  sqlite3_bind_text64(handle_.get(), ++bound_, value.data() == nullptr ? "" : value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  reset();
  if (code != SQLITE_DONE) connection_.fail("the job database cannot be read or written");
  return false;
}

void Statement::run() {
  while (step()) {
  }
}

void Statement::reset() {
  sqlite3_reset(handle_.get());
  sqlite3_clear_bindings(handle_.get());
  bound_ = 0;
}

std::string Statement::text(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(handle_.get(), column));
  return bytes == nullptr ? std::string() : std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(handle_.get(), column)));
}

}  // namespace veneer::jobs

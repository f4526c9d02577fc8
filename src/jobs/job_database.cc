#include "jobs/job_database.h"

#include <algorithm>

#include "graph/json_text.h"
#include "veneer/error.h"

namespace veneer::jobs {
namespace {

constexpr int64_t kVersion = 1;
// `place` orders the history; 0 for jobs that are not in it.
constexpr char kSchema[] = R"(
CREATE TABLE IF NOT EXISTS jobs(
  sequence INTEGER PRIMARY KEY, id TEXT NOT NULL, state INTEGER NOT NULL, place INTEGER NOT NULL DEFAULT 0, number TEXT NOT NULL,
  created_ms INTEGER NOT NULL, started_ms INTEGER NOT NULL DEFAULT 0, ended_ms INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0,
  owner TEXT NOT NULL, client_id TEXT NOT NULL, idempotency_key TEXT NOT NULL, dropped TEXT NOT NULL,
  prompt TEXT NOT NULL, extra TEXT NOT NULL, outputs TEXT NOT NULL,
  result TEXT NOT NULL DEFAULT '{}', status TEXT NOT NULL DEFAULT '{}', meta TEXT NOT NULL DEFAULT '{}', preview TEXT NOT NULL DEFAULT '',
  outputs_count INTEGER NOT NULL DEFAULT 0, error TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS jobs_by_id ON jobs(id);
CREATE INDEX IF NOT EXISTS jobs_by_place ON jobs(place) WHERE place > 0;
CREATE INDEX IF NOT EXISTS jobs_unfinished ON jobs(state) WHERE state < 2;
CREATE UNIQUE INDEX IF NOT EXISTS jobs_by_key ON jobs(owner, idempotency_key) WHERE idempotency_key <> '';
)";
constexpr char kColumns[] =
    "sequence, state, id, number, prompt, extra, outputs, dropped, client_id, owner, idempotency_key, created_ms, attempts, started_ms, ended_ms, "
    "result, status, meta, preview, outputs_count, error";

std::string select(const std::string& rest) { return std::string("SELECT ") + kColumns + " FROM jobs " + rest; }

JobRow read_row(const Statement& s) {
  JobRow row;
  row.sequence = s.integer(0);
  row.state = static_cast<JobState>(s.integer(1));
  row.id = s.text(2);
  row.number = s.text(3);
  row.prompt = s.text(4);
  row.extra = s.text(5);
  row.outputs = s.text(6);
  row.dropped = s.text(7);
  row.client_id = s.text(8);
  row.owner = s.text(9);
  row.idempotency_key = s.text(10);
  row.created_ms = s.integer(11);
  row.attempts = static_cast<int>(s.integer(12));
  row.result.state = row.state;
  row.result.started_ms = s.integer(13);
  row.result.ended_ms = s.integer(14);
  row.result.outputs = s.text(15);
  row.result.status = s.text(16);
  row.result.meta = s.text(17);
  row.result.preview = s.text(18);
  row.result.outputs_count = static_cast<int>(s.integer(19));
  row.result.error = s.text(20);
  return row;
}

std::vector<JobRow> read_all(Statement& statement) {
  std::vector<JobRow> rows;
  while (statement.step()) rows.push_back(read_row(statement));
  return rows;
}

std::optional<JobRow> read_one(Statement& statement) {
  std::optional<JobRow> row;
  while (statement.step()) row = read_row(statement);
  return row;
}

// A prepared connection: statements cannot be made before the table.
Sqlite open(const std::filesystem::path& file, bool wait_for_disk) {
  Sqlite connection(file);
  connection.run("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA temp_store=MEMORY; PRAGMA wal_autocheckpoint=2000;");
  if (wait_for_disk) connection.run("PRAGMA synchronous=FULL");
  int64_t version = 0;
  {
    Statement asked(connection, "PRAGMA user_version");
    while (asked.step()) version = asked.integer(0);
  }
  if (version > kVersion) {
    throw Error(ErrorCode::unsupported, "a newer version of Veneer made the job database",
                {{"file", file.string()}, {"version", std::to_string(version)}, {"known", std::to_string(kVersion)}});
  }
  connection.run(kSchema);
  connection.run("PRAGMA user_version=1");
  return connection;
}

std::string condition(const JobFilter& filter) {
  std::string states;
  for (const JobState state : filter.states) states += (states.empty() ? "" : ",") + std::to_string(static_cast<int>(state));
  return states.empty() ? "" : " WHERE state IN (" + states + ")";
}

}  // namespace

std::string JobRow::history_text() const {
  return "{\"prompt\": [" + number + ", " + graph::dump_json(id) + ", " + prompt + ", " + extra + ", " + outputs +
         "], \"outputs\": " + result.outputs + ", \"status\": " + result.status + ", \"meta\": " + result.meta +
         (unwritten ? ", \"unwritten\": true}" : "}");
}

std::pair<int64_t, int64_t> HistoryRange::window(int64_t total) const {
  int64_t first = 0;
  if (offset) {
    first = *offset;
  } else if (max) {
    first = std::max<int64_t>(0, total - *max);
  }
  if (first >= total) return {0, 0};
  return {first, std::clamp<int64_t>(max.value_or(total), 0, total - first)};
}

JobDatabase::JobDatabase(const std::filesystem::path& file, bool wait_for_disk)
    : connection_(open(file, wait_for_disk)),
      insert_(
          connection_,
          "INSERT INTO jobs(sequence, id, state, number, created_ms, attempts, owner, client_id, idempotency_key, dropped, prompt, extra, outputs) "
          "VALUES(?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      running_(connection_, "UPDATE jobs SET state = 1, started_ms = ? WHERE sequence = ? AND state = 0"),
      finish_(
          connection_,
          "UPDATE jobs SET state = ?, started_ms = ?, ended_ms = ?, result = ?, status = ?, meta = ?, preview = ?, outputs_count = ?, error = ?, "
          "place = CASE WHEN ? > 0 THEN ? ELSE 1 + (SELECT IFNULL(MAX(place), 0) FROM jobs WHERE place > 0) END WHERE sequence = ? AND state < 2"),
      forget_older_(connection_, "DELETE FROM jobs WHERE id = ? AND place > 0 AND sequence <> ?"),
      old_place_(connection_, "SELECT place FROM jobs WHERE id = ? AND place > 0 AND sequence <> ?"),
      entry_(connection_, select("WHERE id = ? AND place > 0 ORDER BY sequence DESC LIMIT 1")) {}

void JobDatabase::insert(const Job& job) {
  const std::string number = graph::dump_json(job.number);
  insert_.bind(job.sequence).bind(job.id).bind(number).bind(job.created_ms).bind(int64_t{job.attempts}).bind(job.owner).bind(job.client_id);
  insert_.bind(job.idempotency_key).bind(job.dropped).bind(job.prompt_text).bind(job.extra_text).bind(job.outputs_text).run();
}

void JobDatabase::set_running(int64_t sequence, int64_t started_ms) { running_.bind(started_ms).bind(sequence).run(); }

void JobDatabase::set_queued_again(int64_t sequence) {
  Statement(connection_, "UPDATE jobs SET state = 0, attempts = attempts + 1 WHERE sequence = ? AND state = 1").bind(sequence).run();
}

void JobDatabase::finish(int64_t sequence, const JobResult& r) {
  std::string id;
  Statement asked(connection_, "SELECT id FROM jobs WHERE sequence = ?");
  asked.bind(sequence);
  while (asked.step()) id = asked.text(0);
  int64_t place = 0;
  old_place_.bind(id).bind(sequence);
  while (old_place_.step()) place = old_place_.integer(0);
  if (place > 0) forget_older_.bind(id).bind(sequence).run();
  finish_.bind(static_cast<int64_t>(r.state)).bind(r.started_ms).bind(r.ended_ms).bind(r.outputs).bind(r.status).bind(r.meta).bind(r.preview);
  finish_.bind(int64_t{r.outputs_count}).bind(r.error).bind(place).bind(place).bind(sequence).run();
}

void JobDatabase::withdraw(int64_t sequence, int64_t ended_ms) {
  Statement(connection_, "UPDATE jobs SET state = 4, ended_ms = ? WHERE sequence = ? AND state = 0").bind(ended_ms).bind(sequence).run();
}

void JobDatabase::forget(const std::string& id) { Statement(connection_, "DELETE FROM jobs WHERE id = ? AND state > 1").bind(id).run(); }

void JobDatabase::forget_all() { connection_.run("DELETE FROM jobs WHERE state > 1"); }

void JobDatabase::trim(int64_t max) {
  Statement(connection_,
            "DELETE FROM jobs WHERE state > 1 AND sequence IN (SELECT sequence FROM jobs WHERE state > 1 ORDER BY "
            "CASE WHEN place > 0 THEN place ELSE sequence END DESC LIMIT -1 OFFSET ?)")
      .bind(max)
      .run();
}

std::vector<JobRow> JobDatabase::unfinished() {
  Statement asked(connection_, select("WHERE state < 2 ORDER BY sequence"));
  return read_all(asked);
}

void JobDatabase::history(const HistoryRange& range, const std::function<void(const JobRow&)>& each) {
  int64_t total = 0;
  Statement counted(connection_, "SELECT COUNT(*) FROM jobs WHERE place > 0");
  while (counted.step()) total = counted.integer(0);
  const auto [first, count] = range.window(total);
  if (count == 0) return;
  Statement asked(connection_, select("WHERE place > 0 ORDER BY place LIMIT ? OFFSET ?"));
  asked.bind(count).bind(first);
  while (asked.step()) each(read_row(asked));
}

std::optional<JobRow> JobDatabase::history_entry(const std::string& id) {
  entry_.bind(id);
  return read_one(entry_);
}

std::vector<JobRow> JobDatabase::list(const JobFilter& filter) {
  Statement asked(connection_,
                  select(condition(filter) + (filter.ascending ? " ORDER BY sequence" : " ORDER BY sequence DESC") + " LIMIT ? OFFSET ?"));
  asked.bind(filter.limit).bind(filter.offset);
  return read_all(asked);
}

int64_t JobDatabase::count(const JobFilter& filter) {
  Statement asked(connection_, "SELECT COUNT(*) FROM jobs" + condition(filter));
  int64_t total = 0;
  while (asked.step()) total = asked.integer(0);
  return total;
}

std::optional<JobRow> JobDatabase::find(const std::string& id) {
  Statement asked(connection_, select("WHERE id = ? ORDER BY sequence DESC LIMIT 1"));
  asked.bind(id);
  return read_one(asked);
}

std::optional<JobRow> JobDatabase::row(int64_t sequence) {
  Statement asked(connection_, select("WHERE sequence = ?"));
  asked.bind(sequence);
  return read_one(asked);
}

std::vector<JobPlace> JobDatabase::places() {
  Statement asked(connection_, "SELECT sequence, state, place, id FROM jobs ORDER BY sequence");
  std::vector<JobPlace> out;
  while (asked.step()) out.push_back({asked.integer(0), static_cast<JobState>(asked.integer(1)), asked.integer(2), asked.text(3)});
  return out;
}

std::optional<JobRow> JobDatabase::find_idempotent(const std::string& owner, const std::string& key) {
  Statement asked(connection_, select("WHERE owner = ? AND idempotency_key = ?"));
  asked.bind(owner).bind(key);
  return read_one(asked);
}

int64_t JobDatabase::last_sequence() {
  Statement asked(connection_, "SELECT IFNULL(MAX(sequence), 0) FROM jobs");
  int64_t last = 0;
  while (asked.step()) last = asked.integer(0);
  return last;
}

void JobDatabase::probe() { connection_.run("PRAGMA user_version=1"); }

std::string JobDatabase::check() {
  Statement asked(connection_, "PRAGMA integrity_check");
  std::string found;
  while (asked.step()) found += asked.text(0);
  return found == "ok" ? "" : found;
}

}  // namespace veneer::jobs

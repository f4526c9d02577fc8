#include "jobs/job_queue.h"

#include <algorithm>

#include "graph/json_text.h"
#include "jobs/clock.h"
#include "veneer/error.h"

namespace veneer::jobs {
namespace {

// Finished jobs between two looks at whether the history is too long.
constexpr int64_t kTrimInterval = 500;

size_t bytes_of(const Job& job) {
  return job.prompt_text.size() + job.extra_text.size() + job.outputs_text.size() + job.dropped.size() + sizeof(Job);
}

Job job_of(const JobRow& row) {
  const graph::JsonLimits limits{.max_bytes = std::numeric_limits<size_t>::max(), .max_depth = 512};
  Job job;
  job.sequence = row.sequence;
  job.id = row.id;
  job.number = graph::parse_json(row.number);
  job.prompt = graph::Prompt::from_json(graph::parse_json(row.prompt, limits));
  job.extra_data = graph::parse_json(row.extra, limits);
  job.outputs = graph::parse_json(row.outputs, limits).get<std::vector<std::string>>();
  job.dropped = row.dropped;
  job.client_id = row.client_id;
  job.owner = row.owner;
  job.idempotency_key = row.idempotency_key;
  job.created_ms = row.created_ms;
  job.attempts = row.attempts;
  job.prompt_text = row.prompt;
  job.extra_text = row.extra;
  job.outputs_text = row.outputs;
  return job;
}

}  // namespace

JobQueue::JobQueue(const QueueOptions& options) : options_(options), journal_(options.database, options.wait_for_disk), reader_(options.database) {
  restore();
}

JobQueue::~JobQueue() { stop(); }

void JobQueue::restore() {
  constexpr int kMostRunsCutShort = 5;
  last_sequence_ = reader_.last_sequence();
  for (JobRow& row : reader_.unfinished()) {
    if (row.state == JobState::running) {
      // A job that ends the program whenever it runs would keep it from ever serving again.
      if (!options_.rerun_cut_short || row.attempts >= kMostRunsCutShort) {
        report_cut_short(row);
        continue;
      }
      journal_.post(JobChange{.kind = JobChange::Kind::queued_again, .sequence = row.sequence});
      ++row.attempts;
    }
    auto job = std::make_shared<Job>(job_of(row));
    const double number = job->number.get<double>();
    if (job->number.is_number_integer()) counter_ = std::max(counter_, std::abs(job->number.get<int64_t>()) + 1);
    waiting_bytes_ += bytes_of(*job);
    ++waiting_of_owner_[job->owner];
    waiting_.emplace(Place{number, job->sequence}, std::move(job));
  }
  journal_.flush();
}

void JobQueue::report_cut_short(const JobRow& row) {
  JobResult result;
  result.state = JobState::failed;
  result.started_ms = row.result.started_ms;
  result.ended_ms = now_ms();
  const graph::Json event = {{"prompt_id", row.id},
                             {"node_id", ""},
                             {"node_type", ""},
                             {"executed", graph::Json::array()},
                             {"exception_message", "The server ended while the job ran.\n"},
                             {"exception_type", "ServerRestart"},
                             {"traceback", graph::Json::array()},
                             {"current_inputs", graph::Json::array()},
                             {"current_outputs", graph::Json::array()},
                             {"timestamp", result.ended_ms}};
  result.error = graph::dump_json(event);
  result.status = "{\"status_str\": \"error\", \"completed\": false, \"messages\": [[\"execution_error\", " + result.error + "]]}";
  journal_.post(JobChange{.kind = JobChange::Kind::finished, .sequence = row.sequence, .result = std::move(result)});
}

void JobQueue::changed() const {
  if (listener_) listener_(waiting_.size() + running_.size());
}

int64_t JobQueue::take_number(bool front) {
  const std::lock_guard lock(mutex_);
  const int64_t number = counter_++;
  return front ? -number : number;
}

class JobQueue::KeyClaim {
 public:
  KeyClaim(JobQueue& queue, const Job& job) : queue_(queue) {
    if (job.idempotency_key.empty()) return;
    key_ = job.owner + '\0' + job.idempotency_key;
    std::unique_lock lock(queue_.mutex_);
    queue_.key_free_.wait(lock, [this] { return queue_.claimed_keys_.insert(key_).second; });
  }
  ~KeyClaim() {
    if (key_.empty()) return;
    {
      const std::lock_guard lock(queue_.mutex_);
      queue_.claimed_keys_.erase(key_);
    }
    queue_.key_free_.notify_all();
  }
  KeyClaim(const KeyClaim&) = delete;
  KeyClaim& operator=(const KeyClaim&) = delete;

 private:
  JobQueue& queue_;
  std::string key_;
};

JobPtr JobQueue::submit(Job job) {
  const KeyClaim claim(*this, job);
  if (!job.idempotency_key.empty() && find_idempotent(job.owner, job.idempotency_key)) {
    throw Error(ErrorCode::invalid, "the idempotency key was used before", {{"key", job.idempotency_key}});
  }
  job.created_ms = now_ms();
  const size_t bytes = bytes_of(job);
  JobPtr queued;
  Journal::Ticket ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) throw Error(ErrorCode::cancelled, "the server is shutting down");
    if (waiting_.size() + arriving_ >= options_.max_waiting ||
        bytes > options_.max_waiting_bytes - std::min(options_.max_waiting_bytes, waiting_bytes_)) {
      throw Error(ErrorCode::no_memory, "the queue is full", {{"limit", std::to_string(options_.max_waiting)}});
    }
    const auto owner = waiting_of_owner_.find(job.owner);
    const size_t of_owner = owner == waiting_of_owner_.end() ? 0 : owner->second;
    if (options_.max_waiting_per_owner > 0 && !job.owner.empty() && of_owner >= options_.max_waiting_per_owner) {
      throw Error(ErrorCode::no_memory, "the queue has no more room for this API key", {{"limit", std::to_string(options_.max_waiting_per_owner)}});
    }
    job.sequence = ++last_sequence_;
    queued = std::make_shared<const Job>(std::move(job));
    ticket = journal_.post_awaited([queued](JobDatabase& db) { db.insert(*queued); });
    ++waiting_of_owner_[queued->owner];
    waiting_bytes_ += bytes;
    ++arriving_;
  }
  try {
    journal_.wait(ticket);
  } catch (const Error&) {
    const std::lock_guard lock(mutex_);
    --arriving_;
    give_back_room(*queued);
    throw;
  }
  {
    const std::lock_guard lock(mutex_);
    --arriving_;
    waiting_.emplace(Place{queued->number.get<double>(), queued->sequence}, queued);
    changed();
  }
  wanted_.notify_one();
  return queued;
}

std::string JobQueue::fault() {
  if (!journal_.fault().empty()) {
    // Else a server that takes no jobs for its fault would never find that it is over.
    journal_.post_once([](JobDatabase& db) { db.probe(); });
    journal_.flush();
  }
  return journal_.fault();
}

std::optional<JobRow> JobQueue::find_idempotent(const std::string& owner, const std::string& key) {
  journal_.flush();
  const std::lock_guard lock(reader_mutex_);
  return reader_.find_idempotent(owner, key);
}

JobPtr JobQueue::take_waiting(std::map<Place, JobPtr>::iterator at) {
  JobPtr job = std::move(at->second);
  waiting_.erase(at);
  give_back_room(*job);
  return job;
}

void JobQueue::give_back_room(const Job& job) {
  waiting_bytes_ -= bytes_of(job);
  const auto owner = waiting_of_owner_.find(job.owner);
  if (owner != waiting_of_owner_.end() && --owner->second == 0) waiting_of_owner_.erase(owner);
}

JobQueue::Next JobQueue::next(uint64_t& wake_seen) {
  Next out;
  Journal::Ticket marked = 0;
  {
    std::unique_lock lock(mutex_);
    wanted_.wait(lock, [&] { return stopped_ || wakes_ != wake_seen || !waiting_.empty(); });
    out.woken = wakes_ != wake_seen;
    wake_seen = wakes_;
    out.stop = stopped_;
    if (stopped_ || out.woken) return out;
    out.job = take_waiting(waiting_.begin());
    const int64_t started = now_ms();
    running_.push_back({out.job, started, false});
    marked = journal_.post(JobChange{.kind = JobChange::Kind::running, .sequence = out.job->sequence, .time_ms = started});
    changed();
  }
  // Before the job can do anything: one that ends the program at once would else be new, and run, after every restart. (Where the disk is full, the
  // job runs all the same.)
  journal_.wait(marked);
  return out;
}

void JobQueue::wake() {
  {
    const std::lock_guard lock(mutex_);
    ++wakes_;
  }
  wanted_.notify_all();
}

void JobQueue::finish(const JobPtr& job, const JobResult& result) {
  {
    const std::lock_guard lock(mutex_);
    const auto at = std::find_if(running_.begin(), running_.end(), [&](const Running& r) { return r.job == job; });
    if (at == running_.end()) return;
    JobResult ended = result;
    ended.started_ms = at->started_ms;
    const bool again = at->asked_to_stop && result.state == JobState::cancelled;
    running_.erase(at);
    if (again) {
      journal_.post(JobChange{.kind = JobChange::Kind::queued_again, .sequence = job->sequence});
    } else {
      journal_.post(JobChange{.kind = JobChange::Kind::finished, .sequence = job->sequence, .result = std::move(ended)});
    }
    if (++finished_ % kTrimInterval == 0) journal_.post([max = options_.max_history](JobDatabase& db) { db.trim(max); });
    changed();
  }
  ended_.notify_all();
}

void JobQueue::stop(bool cancel_running) {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    if (cancel_running) {
      for (Running& running : running_) {
        running.asked_to_stop = true;
        running.job->cancel.cancel();
      }
    }
  }
  wanted_.notify_all();
}

bool JobQueue::idle() const {
  const std::lock_guard lock(mutex_);
  return running_.empty();
}

bool JobQueue::wait_idle(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, limit, [this] { return running_.empty(); });
}

size_t JobQueue::remaining() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size() + running_.size();
}

size_t JobQueue::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

std::vector<JobPtr> JobQueue::running_jobs() const {
  const std::lock_guard lock(mutex_);
  std::vector<JobPtr> jobs;
  for (const Running& running : running_) jobs.push_back(running.job);
  return jobs;
}

std::vector<JobPtr> JobQueue::waiting_jobs() const {
  const std::lock_guard lock(mutex_);
  std::vector<JobPtr> jobs;
  for (const auto& [place, job] : waiting_) jobs.push_back(job);
  return jobs;
}

}  // namespace veneer::jobs

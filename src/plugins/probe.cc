#include "plugins/probe.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>

#include "plugins/library.h"
#include "plugins/plugin_text.h"
#include "veneer/error.h"

namespace veneer::plugins {
namespace {

constexpr int kAnswerStream = 3;          // of the child
constexpr char kAccepted = '+';           // the answer's first byte; else '-' and the reason. A newline ends it.
constexpr size_t kMaxAnswer = 64 * 1024;  // bytes

class FileHandle {
 public:
  explicit FileHandle(int file) : file_(file) {}
  ~FileHandle() { reset(); }
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  int get() const { return file_; }
  void reset() {
    if (file_ >= 0) ::close(file_);
    file_ = -1;
  }

 private:
  int file_;
};

// What posix_spawn is told: where the streams lead, and no blocked signals.
class SpawnSetup {
 public:
  explicit SpawnSetup(int answer) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, answer, kAnswerStream);
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

pid_t spawn(const std::vector<std::string>& command, const std::filesystem::path& file, int answer) {
  std::vector<std::string> arguments = command;
  arguments.push_back(file.string());
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const SpawnSetup setup(answer);
  pid_t child = -1;
  const int failed = ::posix_spawn(&child, pointers.front(), &setup.actions, &setup.attributes, pointers.data(), environ);
  if (failed != 0) throw Error(ErrorCode::internal, "the probe cannot be started", {{"program", command.front()}, {"reason", std::strerror(failed)}});
  return child;
}

using Clock = std::chrono::steady_clock;

// Reads the answer up to its newline, the end of the stream, more than an answer may be, or the end of the time. Whether there was time enough.
bool read_answer(int stream, Clock::time_point end, std::string& answer) {
  while (answer.size() < kMaxAnswer && answer.find('\n') == std::string::npos) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return false;
    pollfd wait{.fd = stream, .events = POLLIN, .revents = 0};
    if (::poll(&wait, 1, static_cast<int>(left.count())) <= 0) continue;
    char bytes[4096];
    const ssize_t count = ::read(stream, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    answer.append(bytes, static_cast<size_t>(count));
  }
  return true;
}

// Waits for a child that has closed its stream and should be about to end. Its status; nullopt for one that had to be ended.
std::optional<int> status_of_child(pid_t child, bool at_once, Clock::time_point end) {
  constexpr std::chrono::milliseconds kPause{2};
  int status = 0;
  while (!at_once && Clock::now() < end) {
    if (::waitpid(child, &status, WNOHANG) == child) return status;
    std::this_thread::sleep_for(kPause);
  }
  ::kill(child, SIGKILL);
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return std::nullopt;
}

std::string reason_of(const std::string& answer, std::optional<int> status) {
  if (answer.ends_with('\n')) return answer.front() == kAccepted ? "" : answer.substr(1, answer.size() - 2);
  if (!status) return "it gave no answer while it was loaded";
  if (WIFSIGNALED(*status)) {
    const int number = WTERMSIG(*status);
    return std::string("it crashed while it was loaded: ") + ::strsignal(number) + " (signal " + std::to_string(number) + ")";
  }
  return "it ended the process while it was loaded: exit code " + std::to_string(WIFEXITED(*status) ? WEXITSTATUS(*status) : -1);
}

}  // namespace

std::string probe_library(const std::vector<std::string>& command, const std::filesystem::path& file, std::chrono::milliseconds limit) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(ErrorCode::internal, "no pipe for the probe", {{"reason", std::strerror(errno)}});
  FileHandle reading(ends[0]);
  FileHandle writing(ends[1]);
  const pid_t child = spawn(command, file, writing.get());
  writing.reset();
  std::string answer;
  const Clock::time_point end = Clock::now() + limit;
  const bool in_time = read_answer(reading.get(), end, answer);
  // A child that told, or tells without end, has nothing to wait for.
  const bool told = answer.ends_with('\n') || answer.size() >= kMaxAnswer;
  const std::optional<int> status = status_of_child(child, !in_time || told, end);
  if (!in_time) return "it took longer than " + std::to_string(limit.count() / 1000) + " seconds to load";
  return reason_of(answer, status);
}

void run_probe(const std::filesystem::path& file) {
  const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::string answer(1, kAccepted);
  try {
    static_cast<void>(load_library(file, file.stem().string()));
  } catch (const std::exception& error) {
    answer = "-" + printable_text(as_abi(error.what())).substr(0, kMaxAnswer / 2);
    std::ranges::replace(answer, '\n', ' ');
  }
  answer += '\n';
  for (size_t at = 0; at < answer.size();) {
    const ssize_t count = ::write(kAnswerStream, answer.data() + at, answer.size() - at);
    if (count <= 0) ::_exit(1);
    at += static_cast<size_t>(count);
  }
  ::_exit(0);
}

}  // namespace veneer::plugins

#include "server/log_book.h"

#include <array>
#include <chrono>
#include <ctime>

#include "jobs/wire.h"

namespace veneer::server {
namespace {

constexpr size_t kKept = 300;

}  // namespace

std::string LogBook::local_time() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() % 1'000'000;
  std::tm parts{};
  localtime_r(&seconds, &parts);
  std::array<char, 32> day{};
  std::strftime(day.data(), day.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  const std::string fraction = std::to_string(1'000'000 + micros).substr(1);
  return std::string(day.data()) + "." + fraction;
}

void LogBook::write(LogLevel level, std::string_view text, const graph::Json& data) {
  if (sink_) sink_(level, text, data);
  if (level == LogLevel::debug) return;
  Entry entry{local_time(), std::string(text)};
  for (const auto& [name, value] : data.items()) {
    entry.text += " " + name + "=" + (value.is_string() ? value.get<std::string>() : jobs::wire_text(value));
  }
  entry.text += "\n";
  keep(entry);
}

void LogBook::keep(const Entry& entry) {
  {
    const std::lock_guard lock(mutex_);
    entries_.push_back(entry);
    if (entries_.size() > kKept) entries_.pop_front();
  }
  if (listener_) listener_(entry);
}

std::vector<LogBook::Entry> LogBook::entries() const {
  const std::lock_guard lock(mutex_);
  return {entries_.begin(), entries_.end()};
}

}  // namespace veneer::server

// LogBook: what the server says, kept for the editor's terminal panel and handed to the program.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/json.h"

namespace veneer::server {

enum class LogLevel : uint8_t { debug, info, warning, error };

// All members may be called from any thread.
class LogBook {
 public:
  // Gets every entry, with its data as a JSON object; may be called from several threads.
  using Sink = std::function<void(LogLevel, std::string_view text, const graph::Json& data)>;
  struct Entry {
    std::string time;  // ISO, local
    std::string text;  // one line, with its end
  };

  explicit LogBook(Sink sink) : sink_(std::move(sink)) {}
  void write(LogLevel level, std::string_view text, const graph::Json& data = graph::Json::object());
  void info(std::string_view text, const graph::Json& data = graph::Json::object()) { write(LogLevel::info, text, data); }
  // A line for the terminal panel alone: what comes with every job would fill the program's log.
  void note(std::string text) { keep({local_time(), std::move(text) + "\n"}); }
  void on_entry(std::function<void(const Entry&)> listener) { listener_ = std::move(listener); }

  // The newest 300, oldest first.
  std::vector<Entry> entries() const;

 private:
  static std::string local_time();
  void keep(const Entry& entry);
  Sink sink_;
  std::function<void(const Entry&)> listener_;
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
};

}  // namespace veneer::server

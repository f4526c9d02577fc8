#include <unistd.h>

#include <array>
#include <cstdio>
#include <map>

#include "base/profile_report.h"

namespace veneer {
namespace {

void append_text(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7F) {
      // Names and shapes are ASCII; what is not is shown byte by byte.
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", byte);
      out += escape.data();
    } else {
      out += c;
    }
  }
  out += '"';
}

void append_number(std::string& out, const char* format, double value) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), format, value);
  out += text.data();
}

void append_arguments(std::string& out, const ProfileEvent& event) {
  out += ",\"args\":{";
  const char* separator = "";
  const auto key = [&](const char* name) {
    out += separator;
    append_text(out, name);
    out += ':';
    separator = ",";
  };
  const double nanoseconds = static_cast<double>(event.end_ns - event.begin_ns);
  if (!event.work.shape.empty()) {
    key("shape");
    append_text(out, event.work.shape);
  }
  if (!event.work.dtype.empty()) {
    key("dtype");
    append_text(out, event.work.dtype);
  }
  if (event.work.flops > 0 && nanoseconds > 0) {
    key("GFLOP/s");
    append_number(out, "%.1f", event.work.flops / nanoseconds);
  }
  if (event.work.bytes > 0 && nanoseconds > 0) {
    key("GB/s");
    append_number(out, "%.2f", event.work.bytes / nanoseconds);
  }
  out += '}';
}

void append_metadata(std::string& out, const char* what, int64_t process, int64_t thread, std::string_view name) {
  out += "{\"name\":\"";
  out += what;
  out += "\",\"ph\":\"M\",\"pid\":" + std::to_string(process) + ",\"tid\":" + std::to_string(thread) + ",\"args\":{\"name\":";
  append_text(out, name);
  out += "}}";
}

}  // namespace

std::string chrome_trace(std::span<const ProfileEvent> events) {
  const auto process = static_cast<int64_t>(::getpid());
  std::string out = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  append_metadata(out, "process_name", process, process, "veneer");
  std::map<int64_t, size_t> threads;
  for (const ProfileEvent& event : events) threads.emplace(event.thread, threads.size());
  for (const auto& [thread, index] : threads) {
    out += ",\n";
    append_metadata(out, "thread_name", process, thread, thread == process ? "main" : "thread " + std::to_string(thread));
  }
  for (const ProfileEvent& event : events) {
    out += ",\n{\"name\":";
    append_text(out, event.name);
    out += ",\"cat\":";
    append_text(out, to_string(event.kind));
    out += ",\"ph\":\"X\",\"ts\":";
    append_number(out, "%.3f", static_cast<double>(event.begin_ns) / 1e3);
    out += ",\"dur\":";
    append_number(out, "%.3f", static_cast<double>(event.end_ns - event.begin_ns) / 1e3);
    out += ",\"pid\":" + std::to_string(process) + ",\"tid\":" + std::to_string(event.thread);
    append_arguments(out, event);
    out += '}';
  }
  out += "\n]}\n";
  return out;
}

}  // namespace veneer

#include "hash_progress.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "byte_size.h"
#include "interruption.h"
#include "terminal_text.h"

namespace veneer::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kQuietSeconds = 0.5;
constexpr double kRedrawSeconds = 0.1;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

}  // namespace

struct HashProgressLine::Line {
  explicit Line(bool quiet) : silent(quiet || isatty(STDERR_FILENO) != 1) {}
  ~Line() {
    if (open) std::fputs("\r\033[K", stderr);
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  void show(const std::string& name, uint64_t done, uint64_t all) {
    if (silent) return;
    if (name != file) {
      file = name;
      begin = Clock::now();
      drawn = begin;
    }
    const double seconds = seconds_since(begin);
    if (seconds < kQuietSeconds || (seconds_since(drawn) < kRedrawSeconds && done < all)) return;
    drawn = Clock::now();
    const double percent = all == 0 ? 100.0 : 100.0 * static_cast<double>(done) / static_cast<double>(all);
    const auto rate = static_cast<uint64_t>(static_cast<double>(done) / seconds);
    const std::string shown = printable(name.substr(name.rfind('/') + 1), 60);
    std::fprintf(stderr, "\r\033[Khashing %s  %.0f %% of %s, %s/s", shown.c_str(), percent, format_byte_size(all).c_str(),
                 format_byte_size(rate).c_str());
    std::fflush(stderr);
    open = true;
  }

  bool silent;
  bool open = false;
  std::string file;
  Clock::time_point begin, drawn;
};

HashProgressLine::HashProgressLine(bool quiet) : line_(std::make_shared<Line>(quiet)) {}

HashProgressLine::Callback HashProgressLine::callback() const {
  return [line = line_](const std::string& file, uint64_t done, uint64_t all) {
    throw_if_interrupted();
    line->show(file, done, all);
  };
}

}  // namespace veneer::cli

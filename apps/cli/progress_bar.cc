#include "progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "terminal_text.h"

namespace veneer::cli {

ProgressBar::ProgressBar(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1), start_(std::chrono::steady_clock::now()) {}

ProgressBar::~ProgressBar() { finish(); }

void ProgressBar::show(const ProgressEvent& event) {
  if (quiet_) return;
  switch (event.kind) {
    case ProgressEvent::Kind::node_started:
      node_ = event.node;
      start_ = std::chrono::steady_clock::now();
      return;
    case ProgressEvent::Kind::step:
      // Elsewhere than on a terminal a line per step is noise; the last one says how long the node took.
      if (terminal_ || event.step >= event.steps) draw(event);
      return;
    case ProgressEvent::Kind::node_finished:
      if (event.node == node_) finish();
      return;
    case ProgressEvent::Kind::node_cached: return;
  }
}

void ProgressBar::finish() {
  if (line_open_) std::fputc('\n', stderr);
  line_open_ = false;
}

void ProgressBar::draw(const ProgressEvent& event) {
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const std::string line = progress_line(event, seconds, 24);
  if (terminal_) {
    std::fprintf(stderr, "\r\033[K%s", line.c_str());
    line_open_ = true;
  } else {
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  std::fflush(stderr);
}

std::string progress_line(const ProgressEvent& event, double seconds, int width) {
  const int steps = std::max(event.steps, 1);
  const int step = std::clamp(event.step, 0, steps);
  const int filled = width * step / steps;
  const std::string bar = std::string(static_cast<size_t>(filled), '#') + std::string(static_cast<size_t>(width - filled), '.');
  char numbers[96];
  if (step > 0 && step < steps) {
    std::snprintf(numbers, sizeof numbers, "%d/%d  %.1f s, %.1f s left", step, steps, seconds, seconds / step * (steps - step));
  } else {
    std::snprintf(numbers, sizeof numbers, "%d/%d  %.1f s", step, steps, seconds);
  }
  constexpr size_t kMostOfAnId = 40;
  return printable(event.class_type) + " (" + printable(event.node, kMostOfAnId) + ") [" + bar + "] " + numbers;
}

}  // namespace veneer::cli

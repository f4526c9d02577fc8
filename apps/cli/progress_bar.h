// Shows a job's progress on standard error: one line that is redrawn on a terminal, a line per node elsewhere.
#pragma once

#include <chrono>
#include <string>

#include "veneer/job.h"

namespace veneer::cli {

class ProgressBar {
 public:
  // `quiet`: show nothing.
  explicit ProgressBar(bool quiet);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(const ProgressEvent& event);
  // Ends an open line, so that other output begins on a line of its own.
  void finish();

 private:
  void draw(const ProgressEvent& event);

  bool quiet_;
  bool terminal_;
  bool line_open_ = false;
  std::string node_;
  std::chrono::steady_clock::time_point start_;
};

// "KSampler (7) [#########...........]  9/20  1.3 s, 1.6 s left": the text of the bar. `seconds`: since the node began.
std::string progress_line(const ProgressEvent& event, double seconds, int width);

}  // namespace veneer::cli

// Progress of work on files: one line on standard error that is redrawn on a terminal, and nothing elsewhere.
#pragma once

#include <chrono>

#include "veneer/model_files.h"

namespace veneer::cli {

class FileProgressLine {
 public:
  // `quiet`: show nothing.
  explicit FileProgressLine(bool quiet);
  ~FileProgressLine();
  FileProgressLine(const FileProgressLine&) = delete;
  FileProgressLine& operator=(const FileProgressLine&) = delete;

  // Must not outlive the line. It throws Error(cancelled) after Ctrl-C, while there is an Interruption.
  FileProgress callback();
  // Clears the line.
  void finish();

 private:
  bool shown_;
  bool open_ = false;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace veneer::cli

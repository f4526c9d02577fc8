// One line on standard error while files are hashed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace veneer::cli {

// Copies of the callback share the line, which is cleared when the last of them goes. Says nothing for files that are hashed within a moment, nor
// where standard error is no terminal.
class HashProgressLine {
 public:
  using Callback = std::function<void(const std::string& file, uint64_t done, uint64_t all)>;
  // `quiet`: nothing at all.
  explicit HashProgressLine(bool quiet);
  // It throws Error(cancelled) after Ctrl-C, while there is an Interruption.
  Callback callback() const;

 private:
  struct Line;
  std::shared_ptr<Line> line_;
};

}  // namespace veneer::cli

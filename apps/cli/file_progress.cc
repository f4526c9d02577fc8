#include "file_progress.h"

#include <unistd.h>

#include <cstdio>

#include "byte_size.h"
#include "interruption.h"

namespace veneer::cli {
namespace {

constexpr std::chrono::milliseconds kBetween{100};

}  // namespace

FileProgressLine::FileProgressLine(bool quiet) : shown_(!quiet && ::isatty(STDERR_FILENO) != 0) {}

FileProgressLine::~FileProgressLine() { finish(); }

FileProgress FileProgressLine::callback() {
  return [this](const std::string& stage, uint64_t done, uint64_t total) {
    throw_if_interrupted();
    if (!shown_) return;
    const auto now = std::chrono::steady_clock::now();
    if (open_ && now - last_ < kBetween) return;
    last_ = now;
    open_ = true;
    const double share = total > 0 ? 100.0 * static_cast<double>(done) / static_cast<double>(total) : 100.0;
    std::fprintf(stderr, "\r\x1b[K%s %5.1f %%  %s of %s", stage.c_str(), share, format_byte_size(done).c_str(), format_byte_size(total).c_str());
    std::fflush(stderr);
  };
}

void FileProgressLine::finish() {
  if (open_) std::fprintf(stderr, "\r\x1b[K");
  open_ = false;
}

}  // namespace veneer::cli

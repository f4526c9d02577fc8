#include "output_file.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <utility>

#include "veneer/error.h"

namespace veneer::cli {
namespace {

Error write_error(const std::string& path, int failure) {
  return {ErrorCode::invalid, "cannot write the file", {{"file", path}, {"reason", std::strerror(failure)}}};
}

// A new file beside `path`, of a name that nothing has.
struct Beside {
  std::string name;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file;
};
Beside open_beside(const std::string& path) {
  std::random_device random;
  for (;;) {
    std::string name = path + "." + std::to_string(random()) + ".tmp";
    const int opened = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (opened >= 0) return {std::move(name), {::fdopen(opened, "wb"), &std::fclose}};
    if (errno != EEXIST) throw write_error(path, errno);
  }
}

}  // namespace

void refuse_same_file(const std::string& input, const std::string& output) {
  if (input.empty() || output.empty() || input == "-" || output == "-") return;
  std::error_code unknown;
  if (!std::filesystem::equivalent(input, output, unknown) || !std::filesystem::is_regular_file(input, unknown)) return;
  throw Error(ErrorCode::invalid, "the output is the input, which it would destroy", {{"input", input}, {"output", output}});
}

void write_output(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);  // the program's end looks at what became of it
    return;
  }
  // Devices and pipes are written to as they are; a file is replaced when the new one is whole.
  std::error_code unknown;
  const bool replace = !std::filesystem::exists(path, unknown) || std::filesystem::is_regular_file(path, unknown);
  Beside opened = replace ? open_beside(path) : Beside{path, {std::fopen(path.c_str(), "wb"), &std::fclose}};
  const std::string& place = opened.name;
  auto& out = opened.file;
  if (out == nullptr) throw write_error(path, errno);
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), out.get()) == text.size() && std::fflush(out.get()) == 0;
  const int failure = errno;
  const bool closed = std::fclose(out.release()) == 0;
  if (written && closed && (!replace || std::rename(place.c_str(), path.c_str()) == 0)) return;
  const int reason = written ? errno : failure;
  if (replace) std::remove(place.c_str());
  throw write_error(path, reason);
}

}  // namespace veneer::cli

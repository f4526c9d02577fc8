#include "workflow_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "veneer/error.h"

namespace veneer::cli {
namespace {

// As much as a workflow may have (graph::JsonLimits).
constexpr size_t kMaxBytes = size_t{64} << 20;
constexpr size_t kBlock = size_t{1} << 20;

// Reads on only until the limit is broken: a device or a pipe may have no end.
std::string read_stream(std::FILE* in, const std::string& name) {
  std::string text;
  for (;;) {
    const size_t before = text.size();
    text.resize(std::min(before + kBlock, kMaxBytes + 1));
    errno = 0;
    const size_t count = std::fread(text.data() + before, 1, text.size() - before, in);
    const int failure = errno;
    text.resize(before + count);
    if (text.size() > kMaxBytes) {
      throw Error(ErrorCode::invalid, "the workflow is too large", {{"file", name}, {"limit", std::to_string(kMaxBytes) + " bytes (64 MiB)"}});
    }
    if (std::ferror(in) != 0) {
      throw Error(ErrorCode::invalid, "cannot read the workflow", {{"file", name}, {"reason", std::strerror(failure)}});
    }
    if (count == 0 || std::feof(in) != 0) return text;
  }
}

}  // namespace

std::string read_workflow_file(const std::string& path) {
  if (path == "-") return read_stream(stdin, "standard input");
  std::error_code unknown;  // what cannot be asked cannot be opened either, and that names the reason
  if (std::filesystem::is_directory(path, unknown)) throw Error(ErrorCode::invalid, "the workflow is a folder, not a file", {{"file", path}});
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (in == nullptr) {
    const int failure = errno;
    const ErrorCode code = failure == ENOENT || failure == ENOTDIR ? ErrorCode::not_found : ErrorCode::invalid;
    throw Error(code, "cannot open the workflow", {{"file", path}, {"reason", std::strerror(failure)}});
  }
  return read_stream(in.get(), path);
}

}  // namespace veneer::cli

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
std::string read_stream(std::FILE* in, const std::string& name, const std::string& what) {
  std::string text;
  for (;;) {
    const size_t before = text.size();
    text.resize(std::min(before + kBlock, kMaxBytes + 1));
    errno = 0;
    const size_t count = std::fread(text.data() + before, 1, text.size() - before, in);
    const int failure = errno;
    text.resize(before + count);
    if (text.size() > kMaxBytes) {
      throw Error(ErrorCode::invalid, "the " + what + " is too large", {{"file", name}, {"limit", std::to_string(kMaxBytes) + " bytes (64 MiB)"}});
    }
    if (std::ferror(in) != 0) {
      throw Error(ErrorCode::invalid, "cannot read the " + what, {{"file", name}, {"reason", std::strerror(failure)}});
    }
    if (count == 0 || std::feof(in) != 0) return text;
  }
}

std::string read_text(const std::string& path, const std::string& what) {
  if (path == "-") return read_stream(stdin, "standard input", what);
  std::error_code unknown;  // what cannot be asked cannot be opened either, and that names the reason
  if (std::filesystem::is_directory(path, unknown)) throw Error(ErrorCode::invalid, "the " + what + " is a folder, not a file", {{"file", path}});
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (in == nullptr) {
    const int failure = errno;
    const ErrorCode code = failure == ENOENT || failure == ENOTDIR ? ErrorCode::not_found : ErrorCode::invalid;
    throw Error(code, "cannot open the " + what, {{"file", path}, {"reason", std::strerror(failure)}});
  }
  return read_stream(in.get(), path, what);
}

}  // namespace

std::string read_workflow_file(const std::string& path) { return read_text(path, "workflow"); }

std::string read_lock_file(const std::string& path) {
  std::string text = read_text(path, "lock");
  if (text.empty()) throw Error(ErrorCode::invalid, "lock: the file is empty", {{"file", path}});
  return text;
}

Error about(const Error& error, const std::string& workflow, const std::string& lock) {
  if (!lock.empty() && error.find("file") == lock) return error;
  const bool of_the_lock = !lock.empty() && error.text().starts_with("lock:");
  return error.with(of_the_lock ? "lock" : "workflow", of_the_lock ? lock : workflow);
}

std::string lock_beside(const std::string& workflow) { return std::filesystem::path(workflow).replace_extension(".lock.json").string(); }

}  // namespace veneer::cli

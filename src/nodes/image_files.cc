#include "nodes/image_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <system_error>

#include "formats/image_tensor.h"
#include "formats/png.h"
#include "graph/json_text.h"
#include "nodes/require_finite.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

namespace fs = std::filesystem;

std::string two_digits(int value) { return (value < 10 ? "0" : "") + std::to_string(value); }

void replace_all(std::string& text, std::string_view from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
}

// Size and time; %batch_num% is left for each picture.
std::string expand(std::string prefix, const Tensor& images) {
  replace_all(prefix, "%width%", std::to_string(images.dim(2)));
  replace_all(prefix, "%height%", std::to_string(images.dim(1)));
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  replace_all(prefix, "%year%", std::to_string(local.tm_year + 1900));
  replace_all(prefix, "%month%", two_digits(local.tm_mon + 1));
  replace_all(prefix, "%day%", two_digits(local.tm_mday));
  replace_all(prefix, "%hour%", two_digits(local.tm_hour));
  replace_all(prefix, "%minute%", two_digits(local.tm_min));
  replace_all(prefix, "%second%", two_digits(local.tm_sec));
  return prefix;
}

struct Place {
  fs::path directory;
  std::string subfolder;  // with '/', relative to the folder
  std::string stem;       // the file name's prefix
};

// The prefix as a path below the folder. Both separators part directories, "." and a closing separator are dropped, an empty prefix is ".".
fs::path relative_path(std::string prefix) {
  std::replace(prefix.begin(), prefix.end(), '\\', '/');
  fs::path relative = fs::path(prefix).lexically_normal();
  if (relative.has_parent_path() && !relative.has_filename()) relative = relative.parent_path();
  return relative.empty() ? fs::path(".") : relative;
}

// Splits the prefix and makes the directory. What would leave the folder is refused, links included.
Place place_of(const fs::path& folder, const std::string& prefix) {
  const auto refuse = [&](const char* rule) { throw Error(ErrorCode::invalid, rule, {{"input", "filename_prefix"}, {"value", prefix}}); };
  if (prefix.find('\0') != std::string::npos) refuse("save: the prefix holds a zero byte");
  const fs::path relative = relative_path(prefix);
  if (relative.is_absolute() || *relative.begin() == "..") refuse("save: the prefix leaves the output folder");
  Place place{folder / relative.parent_path(), relative.parent_path().generic_string(), relative.filename().string()};
  std::error_code failure;
  fs::create_directories(folder, failure);  // what hinders it is told below
  // Before anything is made below the folder: an existing link in the path must not lead out of it.
  const fs::path root = fs::weakly_canonical(folder, failure);
  const fs::path target = failure ? fs::path() : fs::weakly_canonical(place.directory, failure);
  const auto [end, unused] = std::mismatch(root.begin(), root.end(), target.begin(), target.end());
  if (failure) throw Error(ErrorCode::invalid, "save: cannot use the folder", {{"folder", place.directory.string()}, {"reason", failure.message()}});
  if (root.empty() || end != root.end()) refuse("save: the prefix leaves the output folder");
  fs::create_directories(place.directory, failure);
  if (failure) throw Error(ErrorCode::invalid, "save: cannot make the folder", {{"folder", place.directory.string()}, {"reason", failure.message()}});
  return place;
}

// One above the highest number of a file "<stem>_<number>_..." in the directory. Upper and lower case are one where prefixes are compared, so that
// names stay distinct on every file system.
int64_t next_counter(const fs::path& directory, const std::string& stem) {
  const auto lower = [](std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  };
  int64_t highest = 0;
  std::error_code failure;
  const std::string want = lower(stem) + "_";
  for (const auto& entry : fs::directory_iterator(directory, failure)) {
    const std::string name = lower(entry.path().filename().string());
    if (!name.starts_with(want)) continue;
    int64_t number = 0;
    size_t at = want.size();
    for (; at < name.size() && at < want.size() + 15 && name[at] >= '0' && name[at] <= '9'; ++at) number = number * 10 + (name[at] - '0');
    if (at > want.size() && at < name.size() && name[at] == '_') highest = std::max(highest, number);
  }
  return highest + 1;
}

[[noreturn]] void fail_write(const fs::path& path, int reason) {
  throw Error(ErrorCode::invalid, "save: cannot write the file", {{"file", path.string()}, {"reason", std::strerror(reason)}});
}

// False when the name is taken already. A file that cannot be written whole is removed again.
bool write_new_file(const fs::path& path, std::span<const std::byte> bytes) {
  // The name appears with the whole content or not at all: a link to a finished file takes it, and fails if another writer was first.
  const fs::path part = path.parent_path() / (".veneer-" + std::to_string(::getpid()) + ".part");
  const int descriptor = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (descriptor < 0) fail_write(path, errno);
  size_t done = 0;
  int reason = 0;
  while (done < bytes.size()) {
    const ssize_t written = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (written > 0) {
      done += static_cast<size_t>(written);
    } else if (written < 0 && errno != EINTR) {
      reason = errno;
      break;
    }
  }
  if (::close(descriptor) != 0 && reason == 0) reason = errno;
  if (reason == 0 && ::link(part.c_str(), path.c_str()) != 0) reason = errno;
  ::unlink(part.c_str());
  if (reason == EEXIST) return false;
  if (reason != 0) fail_write(path, reason);
  return true;
}

std::string counter_text(int64_t counter) {
  std::string digits = std::to_string(counter);
  if (digits.size() < 5) digits.insert(0, 5 - digits.size(), '0');
  return digits;
}

}  // namespace

graph::Json save_images(const SaveRequest& request, const Tensor& images) {
  if (images.rank() != 4 || images.dtype() != DType::f32) {
    throw Error(ErrorCode::invalid, "save: not a picture", {{"want", "[N, H, W, C] f32"}, {"got", images.shape().to_string()}});
  }
  require_finite(images, "picture");
  const Place place = place_of(request.folder, expand(request.filename_prefix, images));
  int64_t counter = next_counter(place.directory, place.stem);
  graph::Json saved = graph::Json::array();
  for (int64_t n = 0; n < images.dim(0); ++n) {
    formats::ImageBytes image = formats::image_bytes(images, n);
    if (!request.prompt.is_null()) image.text.emplace_back("prompt", graph::dump_json(request.prompt));
    if (request.extra_pnginfo.is_object()) {
      for (const auto& [key, value] : request.extra_pnginfo.items()) image.text.emplace_back(key, graph::dump_json(value));
    }
    const std::vector<std::byte> file = formats::encode_png(image);
    std::string stem = place.stem;
    replace_all(stem, "%batch_num%", std::to_string(n));
    std::string name = stem + "_" + counter_text(counter) + "_.png";
    while (!write_new_file(place.directory / name, file)) name = stem + "_" + counter_text(++counter) + "_.png";
    ++counter;
    saved.push_back({{"filename", name}, {"subfolder", place.subfolder}, {"type", request.type}});
  }
  return {{"images", std::move(saved)}};
}

}  // namespace veneer::nodes

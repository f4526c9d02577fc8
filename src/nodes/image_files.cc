#include "nodes/image_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "formats/atomic_file.h"
#include "formats/file_descriptor.h"
#include "formats/image_tensor.h"
#include "formats/png.h"
#include "graph/json_text.h"
#include "nodes/output_counters.h"
#include "nodes/output_place.h"
#include "nodes/require_finite.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

namespace fs = std::filesystem;

// False when the name is taken already.
bool write_durable_file(const fs::path& path, std::span<const std::byte> bytes) {
  formats::AtomicFile file = formats::AtomicFile::create(path);
  file.write(bytes);
  return file.commit_new(path);
}

// The same for a file that nobody looks for until its name is told.
bool write_passing_file(const fs::path& path, std::span<const std::byte> bytes) {
  const formats::FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (fd.get() < 0 && errno == EEXIST) return false;
  if (fd.get() < 0) throw formats::file_error("file cannot be created", path, errno);
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int reason = errno;
      ::unlink(path.c_str());
      throw formats::file_error("file cannot be written", path, reason);
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

bool write_new_file(const fs::path& path, std::span<const std::byte> bytes, bool durable) {
  return durable ? write_durable_file(path, bytes) : write_passing_file(path, bytes);
}

}  // namespace

graph::Json save_images(const SaveRequest& request, const Tensor& images) {
  if (images.rank() != 4 || images.dtype() != DType::f32) {
    throw Error(ErrorCode::invalid, "save: not a picture", {{"want", "[N, H, W, C] f32"}, {"got", images.shape().to_string()}});
  }
  require_finite(images, "picture");
  const OutputPlace place = output_place(request.folder, expand_prefix(request.filename_prefix, images.dim(2), images.dim(1)));
  int64_t counter = request.counters == nullptr ? next_counter(place.directory, place.stem) : request.counters->next(place.directory, place.stem);
  graph::Json saved = graph::Json::array();
  for (int64_t n = 0; n < images.dim(0); ++n) {
    formats::ImageBytes image = formats::image_bytes(images, n);
    if (!request.prompt.is_null()) image.text.emplace_back("prompt", graph::dump_json(request.prompt));
    if (request.extra_pnginfo.is_object()) {
      for (const auto& [key, value] : request.extra_pnginfo.items()) image.text.emplace_back(key, graph::dump_json(value));
    }
    const std::vector<std::byte> file = formats::encode_png(image, {.compress_level = request.durable ? 4 : 1});
    std::string stem = place.stem;
    replace_all(stem, "%batch_num%", std::to_string(n));
    std::string name = numbered_name(stem, counter, ".png");
    while (!write_new_file(place.directory / name, file, request.durable)) name = numbered_name(stem, ++counter, ".png");
    ++counter;
    saved.push_back({{"filename", name}, {"subfolder", place.subfolder}, {"type", request.type}});
  }
  return {{"images", std::move(saved)}};
}

}  // namespace veneer::nodes

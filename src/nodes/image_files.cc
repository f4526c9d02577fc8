#include "nodes/image_files.h"

#include "formats/atomic_file.h"
#include "formats/image_tensor.h"
#include "formats/png.h"
#include "graph/json_text.h"
#include "nodes/output_place.h"
#include "nodes/require_finite.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

namespace fs = std::filesystem;

// False when the name is taken already.
bool write_new_file(const fs::path& path, std::span<const std::byte> bytes) {
  formats::AtomicFile file = formats::AtomicFile::create(path);
  file.write(bytes);
  return file.commit_new(path);
}

}  // namespace

graph::Json save_images(const SaveRequest& request, const Tensor& images) {
  if (images.rank() != 4 || images.dtype() != DType::f32) {
    throw Error(ErrorCode::invalid, "save: not a picture", {{"want", "[N, H, W, C] f32"}, {"got", images.shape().to_string()}});
  }
  require_finite(images, "picture");
  const OutputPlace place = output_place(request.folder, expand_prefix(request.filename_prefix, images.dim(2), images.dim(1)));
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
    std::string name = numbered_name(stem, counter, ".png");
    while (!write_new_file(place.directory / name, file)) name = numbered_name(stem, ++counter, ".png");
    ++counter;
    saved.push_back({{"filename", name}, {"subfolder", place.subfolder}, {"type", request.type}});
  }
  return {{"images", std::move(saved)}};
}

}  // namespace veneer::nodes

#include "formats/jpeg_encode.h"

// jpeglib.h needs FILE and size_t declared before it.
#include <cstdio>
//
#include <jpeglib.h>

#include <csetjmp>
#include <cstdlib>

#include "veneer/error.h"

namespace veneer::formats {
namespace {

constexpr uint32_t kMaxSide = JPEG_MAX_DIMENSION;

struct Writer {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jmp_buf on_error{};
  unsigned char* data = nullptr;
  unsigned long size = 0;

  ~Writer() {
    jpeg_destroy_compress(&jpeg);
    std::free(data);
  }
};

[[noreturn]] void fail(j_common_ptr jpeg) { std::longjmp(static_cast<Writer*>(jpeg->client_data)->on_error, 1); }

// Nothing here owns anything when libjpeg jumps back. `rows`: RGB or gray, tightly packed.
bool write(Writer& writer, const ImageBytes& image, const uint8_t* rows, int quality) {
  writer.jpeg.err = jpeg_std_error(&writer.errors);
  writer.errors.error_exit = fail;
  writer.jpeg.client_data = &writer;
  if (setjmp(writer.on_error) != 0) return false;
  jpeg_create_compress(&writer.jpeg);
  jpeg_mem_dest(&writer.jpeg, &writer.data, &writer.size);
  const int channels = image.channels == 1 ? 1 : 3;
  writer.jpeg.image_width = image.width;
  writer.jpeg.image_height = image.height;
  writer.jpeg.input_components = channels;
  writer.jpeg.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&writer.jpeg);
  jpeg_set_quality(&writer.jpeg, quality, TRUE);
  jpeg_start_compress(&writer.jpeg, TRUE);
  while (writer.jpeg.next_scanline < writer.jpeg.image_height) {
    auto* row = const_cast<JSAMPLE*>(rows + size_t{writer.jpeg.next_scanline} * image.width * static_cast<size_t>(channels));
    jpeg_write_scanlines(&writer.jpeg, &row, 1);
  }
  jpeg_finish_compress(&writer.jpeg);
  return true;
}

}  // namespace

std::vector<std::byte> encode_jpeg(const ImageBytes& image, int quality) {
  if (quality < 1 || quality > 100) throw Error(ErrorCode::invalid, "jpeg: quality is from 1 to 100", {{"quality", std::to_string(quality)}});
  if (image.width < 1 || image.height < 1 || image.width > kMaxSide || image.height > kMaxSide) {
    throw Error(ErrorCode::invalid, "jpeg: a side is out of range", {{"max", std::to_string(kMaxSide)}});
  }
  std::vector<uint8_t> opaque;
  if (image.channels == 4) {
    opaque.reserve(image.pixels.size() / 4 * 3);
    for (size_t i = 0; i + 3 < image.pixels.size(); i += 4) opaque.insert(opaque.end(), &image.pixels[i], &image.pixels[i] + 3);
  }
  Writer writer;
  if (!write(writer, image, opaque.empty() ? image.pixels.data() : opaque.data(), quality)) throw Error(ErrorCode::internal, "jpeg: encoding failed");
  const auto* bytes = reinterpret_cast<const std::byte*>(writer.data);
  return {bytes, bytes + writer.size};
}

}  // namespace veneer::formats

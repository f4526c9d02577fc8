#include "formats/jpeg.h"

// jpeglib.h needs FILE and size_t declared before it.
#include <cstdio>
//
#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>

#include "formats/exif_orientation.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

// Each scan of a progressive file passes over the whole image; real files have about ten.
constexpr int kMaxScans = 500;
constexpr int kExifMarker = JPEG_APP0 + 1;
constexpr unsigned kMaxMarkerBytes = 0xFFFF;

// Warnings after which libjpeg makes up pixels. The others (stray bytes between markers, odd version numbers) leave the picture as it was stored.
constexpr std::array kFatalWarnings = {JWRN_HIT_MARKER, JWRN_HUFF_BAD_CODE, JWRN_JPEG_EOF, JWRN_MUST_RESYNC, JWRN_NOT_SEQUENTIAL};

struct Reader {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  jmp_buf on_error{};
  char message[JMSG_LENGTH_MAX] = "";

  ~Reader() { jpeg_destroy_decompress(&jpeg); }
};

[[noreturn]] void fail(j_common_ptr jpeg) {
  auto* reader = static_cast<Reader*>(jpeg->client_data);
  jpeg->err->format_message(jpeg, reader->message);
  std::longjmp(reader->on_error, 1);
}

void on_message(j_common_ptr jpeg, int level) {
  if (level < 0 && std::ranges::find(kFatalWarnings, jpeg->err->msg_code) != kFatalWarnings.end()) fail(jpeg);
}

void ignore_output(j_common_ptr) {}

void check_scans(j_common_ptr jpeg) {
  auto* reader = static_cast<Reader*>(jpeg->client_data);
  if (reader->jpeg.input_scan_number <= kMaxScans) return;
  std::strcpy(reader->message, "too many scans");
  std::longjmp(reader->on_error, 1);
}

// The three functions below are the frames that libjpeg's jump returns to; nothing in them, or called from them, owns anything then.
bool read_header(Reader& reader, std::span<const std::byte> bytes) {
  reader.jpeg.err = jpeg_std_error(&reader.errors);
  reader.errors.error_exit = fail;
  reader.errors.emit_message = on_message;
  reader.errors.output_message = ignore_output;
  reader.jpeg.client_data = &reader;
  if (setjmp(reader.on_error) != 0) return false;
  jpeg_create_decompress(&reader.jpeg);
  reader.progress.progress_monitor = check_scans;
  reader.jpeg.progress = &reader.progress;
  jpeg_mem_src(&reader.jpeg, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_save_markers(&reader.jpeg, kExifMarker, kMaxMarkerBytes);
  return jpeg_read_header(&reader.jpeg, TRUE) == JPEG_HEADER_OK;
}

bool start(Reader& reader) {
  if (setjmp(reader.on_error) != 0) return false;
  switch (reader.jpeg.jpeg_color_space) {
    case JCS_GRAYSCALE: reader.jpeg.out_color_space = JCS_GRAYSCALE; break;
    case JCS_CMYK:
    case JCS_YCCK: reader.jpeg.out_color_space = JCS_CMYK; break;
    default: reader.jpeg.out_color_space = JCS_RGB; break;
  }
  return jpeg_start_decompress(&reader.jpeg) == TRUE;
}

bool read_pixels(Reader& reader, uint8_t* pixels, size_t row_bytes) {
  if (setjmp(reader.on_error) != 0) return false;
  while (reader.jpeg.output_scanline < reader.jpeg.output_height) {
    JSAMPROW row = pixels + reader.jpeg.output_scanline * row_bytes;
    (void)jpeg_read_scanlines(&reader.jpeg, &row, 1);
  }
  return jpeg_finish_decompress(&reader.jpeg) == TRUE;
}

// a * b / 255, rounded, without a division.
uint8_t scaled(unsigned a, unsigned b) {
  const unsigned product = a * b + 128;
  return static_cast<uint8_t>((product + (product >> 8)) >> 8);
}

// Adobe's programs store ink inverted (255 is none); files without their marker store it as it is.
void rgb_from_cmyk(std::span<const uint8_t> cmyk, bool inverted, std::span<uint8_t> rgb) {
  for (size_t pixel = 0; pixel < rgb.size() / 3; ++pixel) {
    const auto ink = [&](size_t i) { return inverted ? 255u - cmyk[pixel * 4 + i] : unsigned{cmyk[pixel * 4 + i]}; };
    const unsigned light = 255 - ink(3);
    for (size_t i = 0; i < 3; ++i) rgb[pixel * 3 + i] = static_cast<uint8_t>(light - scaled(ink(i), light));
  }
}

int stored_orientation(const Reader& reader) {
  for (jpeg_saved_marker_ptr marker = reader.jpeg.marker_list; marker != nullptr; marker = marker->next) {
    const auto body = std::as_bytes(std::span(marker->data, marker->data_length));
    const bool exif = marker->marker == kExifMarker && body.size() >= 6 && std::memcmp(body.data(), "Exif\0", 6) == 0;
    if (exif) return exif_orientation(body);
  }
  return 1;
}

}  // namespace

bool is_jpeg(std::span<const std::byte> bytes) {
  return bytes.size() >= 3 && bytes[0] == std::byte{0xFF} && bytes[1] == std::byte{0xD8} && bytes[2] == std::byte{0xFF};
}

ImageBytes decode_jpeg(std::span<const std::byte> bytes, std::string_view file) {
  Reader reader;
  const auto broken = [&] {
    const int code = reader.errors.msg_code;
    const bool foreign = code == JERR_SOF_UNSUPPORTED || code == JERR_BAD_PRECISION || code == JERR_CONVERSION_NOTIMPL;
    return Error(foreign ? ErrorCode::unsupported : ErrorCode::corrupt, foreign ? "jpeg: kind is not supported" : "jpeg: broken",
                 {{"file", std::string(file)}, {"reason", reader.message}});
  };
  if (!read_header(reader, bytes)) throw broken();
  // Its warnings about made-up pixels have no public code, and nobody writes it.
  if (reader.jpeg.arith_code == TRUE) throw Error(ErrorCode::unsupported, "jpeg: arithmetic coding is not supported", {{"file", std::string(file)}});
  const int orientation = stored_orientation(reader);  // now: markers go with the end of decompression
  const bool gray = reader.jpeg.jpeg_color_space == JCS_GRAYSCALE;
  const bool cmyk = reader.jpeg.jpeg_color_space == JCS_CMYK || reader.jpeg.jpeg_color_space == JCS_YCCK;
  // libjpeg allocates whole planes of a progressive file on start, so the size is checked before.
  ImageBytes image = make_image(reader.jpeg.image_width, reader.jpeg.image_height, gray ? 1 : cmyk ? 4 : 3, file);
  if (!start(reader)) throw broken();
  const size_t row_bytes = size_t{image.width} * static_cast<size_t>(image.channels);
  if (!read_pixels(reader, image.pixels.data(), row_bytes)) throw broken();
  if (cmyk) {
    ImageBytes rgb = make_image(image.width, image.height, 3, file);
    rgb_from_cmyk(image.pixels, reader.jpeg.saw_Adobe_marker == TRUE, rgb.pixels);
    image = std::move(rgb);
  }
  return apply_orientation(std::move(image), orientation);
}

}  // namespace veneer::formats

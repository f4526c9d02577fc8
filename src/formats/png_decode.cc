#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "formats/exif_orientation.h"
#include "formats/latin1.h"
#include "formats/png.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

constexpr size_t kSignatureBytes = 8;
constexpr size_t kChunkHeaderBytes = 8;
constexpr size_t kChunkFrameBytes = 12;  // length, type and checksum
// Text of a big workflow is a few MB. Deflated text is small in the file, so what a chunk inflates to, their count and their sum are bounded.
constexpr png_alloc_size_t kMaxChunkBytes = png_alloc_size_t{16} << 20;
constexpr png_uint_32 kChunkCache = 258;
constexpr png_uint_32 kMaxKeptChunks = kChunkCache - 2;  // libpng silently drops the chunk that brings its countdown to 1, and all after it
constexpr size_t kMaxTextBytes = size_t{64} << 20;
// Deflate cannot shrink data by more than about 1032 to 1, so a small file cannot make the reader allocate a large image.
constexpr uint64_t kMaxDeflateRatio = 1040;

struct Reader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::span<const std::byte> rest;
  int texts_counted = 0;
  size_t text_bytes = 0;
  char message[128] = "";

  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
};

void fail(png_structp png, png_const_charp message) {
  auto* reader = static_cast<Reader*>(png_get_error_ptr(png));
  std::strncpy(reader->message, message, sizeof reader->message - 1);
  png_longjmp(png, 1);
}
void ignore_warning(png_structp, png_const_charp) {}

// Called as bytes are taken, so libpng holds at most one chunk past the bound.
void bound_text(Reader& reader) {
  png_textp text = nullptr;
  const int count = png_get_text(reader.png, reader.info, &text, nullptr);
  for (; reader.texts_counted < count; ++reader.texts_counted) {
    const png_text& entry = text[reader.texts_counted];
    reader.text_bytes += entry.text_length + entry.itxt_length;  // one of them is 0
  }
  if (reader.text_bytes > kMaxTextBytes) png_error(reader.png, "text chunks hold more than 64 MiB");
}

void take(png_structp png, png_bytep data, size_t size) {
  auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
  bound_text(*reader);
  if (size > reader->rest.size()) png_error(png, "file ends early");
  std::memcpy(data, reader->rest.data(), size);
  reader->rest = reader->rest.subspan(size);
}

// The three functions below are the frames that libpng's jump returns to; nothing in them, or called from them, owns anything then.
bool read_header(Reader& reader) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_set_read_fn(reader.png, &reader, take);
  png_set_user_limits(reader.png, static_cast<png_uint_32>(kMaxImageSide), static_cast<png_uint_32>(kMaxImageSide));
  png_set_chunk_malloc_max(reader.png, kMaxChunkBytes);
  png_set_chunk_cache_max(reader.png, kChunkCache);
  png_set_crc_action(reader.png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  png_read_info(reader.png, reader.info);
  return true;
}

// To 8-bit gray, RGB or RGBA.
bool set_conversions(Reader& reader) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  const png_byte color = png_get_color_type(reader.png, reader.info);
  png_set_strip_16(reader.png);
  png_set_expand(reader.png);
  const bool alpha = (color & PNG_COLOR_MASK_ALPHA) != 0 || png_get_valid(reader.png, reader.info, PNG_INFO_tRNS) != 0;
  if (alpha) png_set_gray_to_rgb(reader.png);
  (void)png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

bool read_pixels(Reader& reader, png_bytepp rows) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_read_image(reader.png, rows);
  png_read_end(reader.png, reader.info);
  return true;
}

// tEXt and zTXt hold Latin-1, iTXt UTF-8. Text that is not what it says is dropped, as Pillow does: the picture is still whole.
void copy_text(const Reader& reader, ImageBytes& image) {
  png_textp text = nullptr;
  const int count = png_get_text(reader.png, reader.info, &text, nullptr);
  for (int i = 0; i < count; ++i) {
    const png_text& entry = text[i];
    const bool unicode = entry.compression == PNG_ITXT_COMPRESSION_NONE || entry.compression == PNG_ITXT_COMPRESSION_zTXt;
    const std::string_view value(entry.text, unicode ? entry.itxt_length : entry.text_length);
    if (unicode && !is_utf8(value)) continue;
    image.text.emplace_back(utf8_from_latin1(entry.key), unicode ? std::string(value) : utf8_from_latin1(value));
  }
}

int stored_orientation(const Reader& reader) {
  png_uint_32 size = 0;
  png_bytep exif = nullptr;
  if (png_get_eXIf_1(reader.png, reader.info, &size, &exif) == 0 || exif == nullptr) return 1;
  return exif_orientation(std::as_bytes(std::span(exif, size)));
}

// libpng allocates what a chunk's length says before it reads the chunk.
void check_chunks(std::span<const std::byte> bytes, std::string_view file) {
  size_t kept = 0;
  for (auto rest = bytes.subspan(kSignatureBytes); rest.size() >= kChunkHeaderBytes;) {
    const auto* header = reinterpret_cast<png_const_bytep>(rest.data());
    const uint64_t length = png_get_uint_32(header);
    std::string type(reinterpret_cast<const char*>(header) + 4, 4);
    if (length + kChunkFrameBytes > rest.size()) {
      for (char& c : type)
        if (c < ' ' || c > '~') c = '?';
      throw Error(ErrorCode::corrupt, "png: chunk leaves the file",
                  {{"file", std::string(file)}, {"chunk", type}, {"length", std::to_string(length)}});
    }
    if (type == "IEND") return;
    if (type == "tEXt" || type == "zTXt" || type == "iTXt" || type == "sPLT") ++kept;
    if (kept > kMaxKeptChunks) {
      throw Error(ErrorCode::corrupt, "png: too many text chunks", {{"file", std::string(file)}, {"most", std::to_string(kMaxKeptChunks)}});
    }
    rest = rest.subspan(length + kChunkFrameBytes);
  }
}

}  // namespace

bool is_png(std::span<const std::byte> bytes) {
  return bytes.size() >= kSignatureBytes && png_sig_cmp(reinterpret_cast<png_const_bytep>(bytes.data()), 0, kSignatureBytes) == 0;
}

ImageBytes decode_png(std::span<const std::byte> bytes, std::string_view file) {
  if (!is_png(bytes)) throw Error(ErrorCode::corrupt, "png: signature is wrong", {{"file", std::string(file)}});
  check_chunks(bytes, file);
  Reader reader;
  reader.rest = bytes;
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, fail, ignore_warning);
  if (reader.png != nullptr) reader.info = png_create_info_struct(reader.png);
  if (reader.info == nullptr) throw Error(ErrorCode::no_memory, "png: out of memory", {{"file", std::string(file)}});
  const auto broken = [&] { return Error(ErrorCode::corrupt, "png: broken", {{"file", std::string(file)}, {"reason", reader.message}}); };

  if (!read_header(reader)) throw broken();
  const bool has_channel_or_palette = (png_get_color_type(reader.png, reader.info) & (PNG_COLOR_MASK_ALPHA | PNG_COLOR_MASK_PALETTE)) != 0;
  const uint64_t stored_row_bytes = png_get_rowbytes(reader.png, reader.info);
  const uint64_t height = png_get_image_height(reader.png, reader.info);
  if (stored_row_bytes * height / kMaxDeflateRatio > bytes.size()) {
    throw Error(ErrorCode::corrupt, "png: file is too small for its image",
                {{"file", std::string(file)}, {"file_bytes", std::to_string(bytes.size())}});
  }
  if (!set_conversions(reader)) throw broken();
  const int channels = png_get_channels(reader.png, reader.info);
  ImageBytes image = make_image(png_get_image_width(reader.png, reader.info), height, channels, file);
  const size_t row_bytes = size_t{image.width} * static_cast<size_t>(channels);
  if (png_get_rowbytes(reader.png, reader.info) != row_bytes) throw broken();
  std::vector<png_bytep> rows(image.height);
  for (size_t y = 0; y < rows.size(); ++y) rows[y] = image.pixels.data() + y * row_bytes;
  if (!read_pixels(reader, rows.data())) throw broken();

  image.alpha_from_key = channels == 4 && !has_channel_or_palette;
  copy_text(reader, image);
  return apply_orientation(std::move(image), stored_orientation(reader));
}

}  // namespace veneer::formats

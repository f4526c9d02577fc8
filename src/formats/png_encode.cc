#include <png.h>

#include <csetjmp>
#include <new>

#include "formats/latin1.h"
#include "formats/png.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

constexpr size_t kMaxKeyBytes = 79;
constexpr png_byte kTextChunk[5] = {'t', 'E', 'X', 't', 0};
constexpr png_byte kUnicodeChunk[5] = {'i', 'T', 'X', 't', 0};

struct TextChunk {
  const png_byte* type;
  std::string data;
};

// The body of the chunk: key, zero, value; iTXt puts "not compressed" and two empty strings (language, translated key) between.
TextChunk text_chunk(const std::string& key, const std::string& value) {
  const std::optional<std::string> latin_key = latin1_from_utf8(key);
  const bool good_key = latin_key && !latin_key->empty() && latin_key->size() <= kMaxKeyBytes && latin_key->find('\0') == std::string::npos;
  if (!good_key) throw Error(ErrorCode::invalid, "png: text key is not 1 to 79 Latin-1 characters", {{"bytes", std::to_string(key.size())}});
  if (value.find('\0') != std::string::npos) throw Error(ErrorCode::invalid, "png: text has a zero byte", {{"key", key}});
  if (const std::optional<std::string> latin = latin1_from_utf8(value)) return {kTextChunk, *latin_key + '\0' + *latin};
  if (!is_utf8(value)) throw Error(ErrorCode::invalid, "png: text is not UTF-8", {{"key", key}});
  return {kUnicodeChunk, *latin_key + std::string(5, '\0') + value};
}

struct Writer {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::vector<std::byte> out;
  bool out_of_memory = false;

  ~Writer() { png_destroy_write_struct(&png, &info); }
};

void fail(png_structp png, png_const_charp) { png_longjmp(png, 1); }
void ignore_warning(png_structp, png_const_charp) {}
void ignore_flush(png_structp) {}

void append(png_structp png, png_bytep data, size_t size) {
  auto* writer = static_cast<Writer*>(png_get_io_ptr(png));
  try {
    const auto* begin = reinterpret_cast<const std::byte*>(data);
    writer->out.insert(writer->out.end(), begin, begin + size);
    return;
  } catch (const std::bad_alloc&) {
    writer->out_of_memory = true;
  }
  png_error(png, "out of memory");
}

// The only frame that libpng's jump returns to. Nothing in it, or called from it, owns anything when the jump happens.
bool write_all(Writer& writer, const ImageBytes& image, const std::vector<TextChunk>& chunks, int level) {
  if (setjmp(png_jmpbuf(writer.png)) != 0) return false;
  const int color = image.channels == 1 ? PNG_COLOR_TYPE_GRAY : image.channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_RGBA;
  png_set_write_fn(writer.png, &writer, append, ignore_flush);
  png_set_compression_level(writer.png, level);
  png_set_IHDR(writer.png, writer.info, image.width, image.height, 8, color, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(writer.png, writer.info);
  for (const TextChunk& chunk : chunks) {
    png_write_chunk(writer.png, chunk.type, reinterpret_cast<png_const_bytep>(chunk.data.data()), chunk.data.size());
  }
  const size_t row_bytes = size_t{image.width} * static_cast<size_t>(image.channels);
  for (uint32_t y = 0; y < image.height; ++y) png_write_row(writer.png, image.pixels.data() + y * row_bytes);
  png_write_end(writer.png, nullptr);
  return true;
}

void check(const ImageBytes& image, const PngOptions& options) {
  if (image.channels != 1 && image.channels != 3 && image.channels != 4) {
    throw Error(ErrorCode::invalid, "png: an image has 1, 3 or 4 channels", {{"channels", std::to_string(image.channels)}});
  }
  const uint64_t pixels = uint64_t{image.width} * image.height;
  const bool size_fits = pixels > 0 && image.width <= kMaxImageSide && image.height <= kMaxImageSide && pixels <= kMaxImagePixels;
  if (!size_fits || image.pixels.size() != pixels * static_cast<uint64_t>(image.channels)) {
    throw Error(ErrorCode::invalid, "png: size of the image is out of range or does not fit its bytes",
                {{"width", std::to_string(image.width)}, {"height", std::to_string(image.height)}, {"bytes", std::to_string(image.pixels.size())}});
  }
  if (options.compress_level < 0 || options.compress_level > 9) {
    throw Error(ErrorCode::invalid, "png: compression level is 0 to 9", {{"level", std::to_string(options.compress_level)}});
  }
}

}  // namespace

std::vector<std::byte> encode_png(const ImageBytes& image, const PngOptions& options) {
  check(image, options);
  std::vector<TextChunk> chunks;
  for (const auto& [key, value] : image.text) chunks.push_back(text_chunk(key, value));

  Writer writer;
  writer.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, fail, ignore_warning);
  if (writer.png != nullptr) writer.info = png_create_info_struct(writer.png);
  if (writer.info == nullptr) throw Error(ErrorCode::no_memory, "png: out of memory");
  if (!write_all(writer, image, chunks, options.compress_level)) {
    throw Error(writer.out_of_memory ? ErrorCode::no_memory : ErrorCode::internal,
                writer.out_of_memory ? "png: out of memory" : "png: cannot be written");
  }
  return std::move(writer.out);
}

}  // namespace veneer::formats

#include "engine/frontend_package.h"

#include <zlib.h>

#include <fstream>
#include <memory>
#include <string_view>
#include <vector>

#include "formats/read_file.h"
#include "formats/zip_archive.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxWheelBytes = uint64_t{512} << 20;
constexpr uint64_t kMaxUnpackedBytes = uint64_t{2} << 30;
constexpr size_t kPiece = size_t{1} << 20;
constexpr std::string_view kStatic = "comfyui_frontend_package/static/";

Error corrupt(const std::string& wheel, std::string_view entry, const char* rule) {
  return {ErrorCode::corrupt, rule, {{"file", wheel}, {"entry", std::string(entry)}}};
}

std::string inflated(const formats::ZipEntry& entry, uint64_t limit, const std::string& wheel) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw Error(ErrorCode::no_memory, "wheel: no memory to unpack", {{"file", wheel}});
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&stream, &inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(entry.bytes.data()));
  stream.avail_in = static_cast<uInt>(entry.bytes.size());
  std::string out;
  int code = Z_OK;
  while (code == Z_OK) {
    const size_t done = out.size();
    if (done > limit) throw corrupt(wheel, entry.name, "wheel: an entry unpacks to too much");
    out.resize(done + kPiece);
    stream.next_out = reinterpret_cast<Bytef*>(&out[done]);
    stream.avail_out = static_cast<uInt>(kPiece);
    code = inflate(&stream, Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
    if (code == Z_OK && stream.avail_out == kPiece) break;
  }
  if (code != Z_STREAM_END) throw corrupt(wheel, entry.name, "wheel: an entry cannot be unpacked");
  return out;
}

std::string content_of(const formats::ZipEntry& entry, uint64_t limit, const std::string& wheel) {
  std::string out =
      entry.compressed ? inflated(entry, limit, wheel) : std::string(reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size());
  const uLong sum = crc32(crc32(0, nullptr, 0), reinterpret_cast<const Bytef*>(out.data()), static_cast<uInt>(out.size()));
  if (sum != entry.crc) throw corrupt(wheel, entry.name, "wheel: an entry's checksum does not fit");
  return out;
}

// Of "comfyui_frontend_package-1.27.10.dist-info/METADATA".
std::string version_of(const formats::ZipArchive& archive) {
  constexpr std::string_view kBegin = "comfyui_frontend_package-";
  for (const formats::ZipEntry& entry : archive.entries()) {
    const size_t end = entry.name.find(".dist-info/");
    if (entry.name.starts_with(kBegin) && end != std::string_view::npos) return std::string(entry.name.substr(kBegin.size(), end - kBegin.size()));
  }
  return "unknown";
}

bool stays_inside(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.find('\\') != std::string_view::npos || name.find('\0') != std::string_view::npos) return false;
  for (const fs::path& part : fs::path(name)) {
    if (part == "..") return false;
  }
  return true;
}

FrontendInstall unpack(const formats::ZipArchive& archive, const fs::path& folder, const std::string& wheel) {
  FrontendInstall done;
  done.version = version_of(archive);
  for (const formats::ZipEntry& entry : archive.entries()) {
    if (!entry.name.starts_with(kStatic) || entry.name.ends_with('/')) continue;
    const std::string_view name = entry.name.substr(kStatic.size());
    if (!stays_inside(name)) throw corrupt(wheel, entry.name, "wheel: an entry leaves its folder");
    const std::string content = content_of(entry, kMaxUnpackedBytes - done.bytes, wheel);
    const fs::path file = folder / name;
    fs::create_directories(file.parent_path());
    std::ofstream out(file, std::ios::binary);
    if (!out.write(content.data(), static_cast<std::streamsize>(content.size()))) {
      throw Error(ErrorCode::invalid, "a file of the editor cannot be written", {{"file", file.string()}});
    }
    ++done.files;
    done.bytes += content.size();
    if (done.bytes > kMaxUnpackedBytes) throw corrupt(wheel, entry.name, "wheel: it unpacks to too much");
  }
  if (done.files == 0) {
    throw Error(ErrorCode::invalid, "the file is no wheel of comfyui-frontend-package", {{"file", wheel}, {"want", std::string(kStatic)}});
  }
  std::ofstream(folder / ".veneer-version") << done.version << "\n";
  return done;
}

}  // namespace

FrontendInstall install_frontend(const fs::path& wheel, const fs::path& folder) {
  const std::vector<std::byte> bytes = formats::read_file(wheel, kMaxWheelBytes);
  const formats::ZipArchive archive = formats::ZipArchive::parse(bytes, wheel.string());
  fs::path fresh = folder;
  fresh += ".new";
  fs::path old = folder;
  old += ".old";
  fs::remove_all(fresh);
  fs::remove_all(old);
  try {
    fs::create_directories(fresh);
    FrontendInstall done = unpack(archive, fresh, wheel.string());
    if (fs::exists(folder)) fs::rename(folder, old);
    fs::rename(fresh, folder);
    fs::remove_all(old);
    return done;
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(fresh, ignored);
    if (!fs::exists(folder) && fs::exists(old)) fs::rename(old, folder, ignored);
    throw;
  }
}

}  // namespace veneer::engine

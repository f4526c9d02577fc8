#include "bench/file_figures.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "formats/atomic_file.h"
#include "formats/model_file.h"
#include "formats/safetensors_header.h"
#include "veneer/model_files.h"

namespace veneer::bench {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLargeBytes = uint64_t{4} << 30;
constexpr int kTensors = 2000;  // an SDXL checkpoint has 2,516

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string header_bytes(uint64_t data_bytes, int tensors) {
  std::vector<formats::SafetensorsFile::Entry> entries;
  const uint64_t each = data_bytes / static_cast<uint64_t>(tensors);
  for (int i = 0; i < tensors; ++i) {
    const uint64_t begin = static_cast<uint64_t>(i) * each;
    const std::string name = "model.diffusion_model.input_blocks." + std::to_string(i) + ".1.transformer_blocks.0.attn1.to_q.weight";
    entries.push_back({name, DType::f16, Shape({static_cast<int64_t>(each / 2)}), begin, begin + each});
  }
  const std::string json = formats::safetensors_header_json(entries, {});
  std::string out;
  for (size_t i = 0; i < 8; ++i) out += static_cast<char>((json.size() >> (8 * i)) & 0xffU);
  return out + json;
}

// A file of 4 GiB with holes in the place of its data: only the header is read.
void print_open(const fs::path& folder) {
  const fs::path file = folder / "large.safetensors";
  const uint64_t data = kLargeBytes / (2 * kTensors) * 2 * kTensors;
  const std::string header = header_bytes(data, kTensors);
  std::ofstream(file, std::ios::binary) << header;
  fs::resize_file(file, header.size() + data);
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 10; ++round) best = std::min(best, seconds([&] { (void)formats::ModelFile::open(file); }));
  std::printf("open a 4 GiB file of %d tensors     %8.2f ms\n", kTensors, best * 1e3);
  fs::remove(file);
}

void forget(const fs::path& file) {
  const formats::OpenFile open = formats::open_for_reading(file);
  (void)::posix_fadvise(open.fd.get(), 0, 0, POSIX_FADV_DONTNEED);
}

// To the disk and from it, as the conversion has to.
void copy_through(const fs::path& from, const fs::path& to) {
  const formats::OpenFile source = formats::open_for_reading(from);
  formats::AtomicFile target = formats::AtomicFile::create(to);
  std::vector<std::byte> piece(size_t{4} << 20);
  for (uint64_t at = 0; at < source.size_bytes;) {
    const ssize_t count = ::pread(source.fd.get(), piece.data(), piece.size(), static_cast<off_t>(at));
    if (count <= 0) throw formats::file_error("file cannot be read", from, errno);
    target.write(std::span(piece).first(static_cast<size_t>(count)));
    target.send_to_disk();
    at += static_cast<uint64_t>(count);
  }
  target.commit();
}

void print_conversion(const fs::path& folder) {
  constexpr uint64_t kBytes = uint64_t{512} << 20;
  constexpr int kParts = 64;
  const fs::path source = folder / "source.safetensors";
  {
    formats::AtomicFile file = formats::AtomicFile::create(source);
    file.write(header_bytes(kBytes, kParts));
    // Finite halves that do not compress.
    std::vector<uint16_t> piece(kBytes / kParts / 2);
    uint32_t state = 1;
    for (int part = 0; part < kParts; ++part) {
      for (uint16_t& value : piece) {
        state = state * 1664525U + 1013904223U;
        value = static_cast<uint16_t>((state >> 16) & 0xbbffU);
      }
      file.write(std::as_bytes(std::span(piece)));
    }
    file.commit();
  }
  const double gb = static_cast<double>(kBytes) / 1e9;
  forget(source);
  const double copied = seconds([&] { copy_through(source, folder / "copy"); });
  fs::remove(folder / "copy");
  std::printf("copy 512 MiB to the disk            %8.1f MB/s\n", gb / copied * 1e3);
  for (const char* dtype : {"", "bf16"}) {
    const fs::path target = folder / "target.safetensors";
    forget(source);
    const double converted = seconds([&] { (void)convert_model({.source = source.string(), .target = target.string(), .dtype = dtype}); });
    fs::remove(target);
    std::printf("convert %-5s hashed and read back   %8.1f MB/s, %.2f of the copy\n", *dtype == '\0' ? "as is" : dtype, gb / converted * 1e3,
                copied / converted);
    std::fflush(stdout);
  }
}

}  // namespace

void print_file_figures(const std::filesystem::path& parent) {
  std::string name = (parent / "veneer_bench_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw formats::file_error("folder cannot be created", name, errno);
  const fs::path folder = name;
  try {
    print_open(folder);
    print_conversion(folder);
  } catch (...) {
    fs::remove_all(folder);
    throw;
  }
  fs::remove_all(folder);
}

}  // namespace veneer::bench

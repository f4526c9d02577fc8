#include "bench/file_figures.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "formats/atomic_file.h"
#include "formats/model_file.h"
#include "formats/safetensors_header.h"
#include "formats/sha256.h"
#include "veneer/model_files.h"

namespace veneer::bench {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLargeBytes = uint64_t{4} << 30;
constexpr int kTensors = 2000;  // an SDXL checkpoint has 2,516
constexpr uint64_t kSourceBytes = uint64_t{256} << 20;
constexpr int kParts = 64;
constexpr int kRounds = 5;

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::string header_bytes(uint64_t data_bytes, int tensors) {
  std::vector<formats::SafetensorsEntry> entries;
  const uint64_t each = data_bytes / static_cast<uint64_t>(tensors);
  for (int i = 0; i < tensors; ++i) {
    const uint64_t begin = static_cast<uint64_t>(i) * each;
    const std::string name = "model.diffusion_model.input_blocks." + std::to_string(i) + ".1.transformer_blocks.0.attn1.to_q.weight";
    entries.push_back({name, DType::f16, Shape({static_cast<int64_t>(each / 1024), 512}), begin, begin + each});
  }
  const std::string json = formats::safetensors_header_json(entries, {});
  std::string out;
  for (size_t i = 0; i < 8; ++i) out += static_cast<char>((json.size() >> (8 * i)) & 0xffU);
  return out + json;
}

// A file of 4 GiB with holes in the place of its data: only the header is read.
void print_open(const fs::path& folder) {
  const fs::path file = folder / "large.safetensors";
  const uint64_t data = kLargeBytes / (1024 * kTensors) * 1024 * kTensors;  // tensors are matrices of rows of 512 halves
  const std::string header = header_bytes(data, kTensors);
  std::ofstream(file, std::ios::binary) << header;
  fs::resize_file(file, header.size() + data);
  constexpr int kOpens = 11;
  std::vector<double> taken;
  taken.reserve(kOpens);
  for (int round = 0; round < kOpens; ++round) taken.push_back(seconds([&] { (void)formats::ModelFile::open(file); }));
  std::printf("open a 4 GiB file of %d tensors     %8.2f ms (at most 5)\n", kTensors, median(taken) * 1e3);
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

// Finite halves that do not compress.
void write_source(const fs::path& path) {
  formats::AtomicFile file = formats::AtomicFile::create(path);
  file.write(header_bytes(kSourceBytes, kParts));
  std::vector<uint16_t> piece(kSourceBytes / kParts / 2);
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

double rate(double seconds_taken) { return static_cast<double>(kSourceBytes) / 1e6 / seconds_taken; }

// OpenSSL alone, in one thread, over bytes in memory as many as the file has.
void hash_in_memory(std::span<const std::byte> piece) {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  if (context == nullptr) throw std::bad_alloc();
  EVP_DigestInit_ex(context, EVP_sha256(), nullptr);
  for (uint64_t done = 0; done < kSourceBytes; done += piece.size()) EVP_DigestUpdate(context, piece.data(), piece.size());
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  EVP_DigestFinal_ex(context, digest.data(), nullptr);
  EVP_MD_CTX_free(context);
}

// Rounds of the two in turn, so that both see the same machine; the file is in the system's memory.
void print_hashing(const fs::path& source) {
  const std::vector<std::byte> piece(size_t{1} << 20, std::byte{0x5a});
  std::vector<double> alone, file;
  (void)formats::sha256_hex_of_file(source);
  for (int round = 0; round < kRounds; ++round) {
    alone.push_back(seconds([&] { hash_in_memory(piece); }));
    file.push_back(seconds([&] { (void)formats::sha256_hex_of_file(source); }));
  }
  std::printf("SHA-256 by OpenSSL in one thread    %8.1f MB/s\n", rate(median(alone)));
  std::printf("SHA-256 of a file                   %8.1f MB/s, %.2f of OpenSSL (at least 0.80)\n", rate(median(file)), median(alone) / median(file));
  std::fflush(stdout);
}

struct Conversion {
  const char* name;
  ConvertRequest request;
  std::vector<double> taken = {};
};

// Copies and conversions in turn.
void print_conversion(const fs::path& folder, const fs::path& source) {
  std::vector<Conversion> conversions = {{"as is", {.target = "target.safetensors"}},
                                         {"bf16", {.target = "target.safetensors", .dtype = "bf16"}},
                                         {"q8_0", {.target = "target.gguf", .quantise = "q8_0"}}};
  std::vector<double> copies;
  for (int round = 0; round < kRounds; ++round) {
    forget(source);
    copies.push_back(seconds([&] { copy_through(source, folder / "copy"); }));
    fs::remove(folder / "copy");
    for (Conversion& conversion : conversions) {
      ConvertRequest request = conversion.request;
      request.source = source.string();
      request.target = (folder / request.target).string();
      forget(source);
      conversion.taken.push_back(seconds([&] { (void)convert_model(request); }));
      fs::remove(request.target);
    }
  }
  const double copied = median(copies);
  std::printf("copy 256 MiB to the disk            %8.1f MB/s\n", rate(copied));
  for (const Conversion& conversion : conversions) {
    std::printf("convert %-5s hashed and read back   %8.1f MB/s, %.2f of the copy (at least 0.50)\n", conversion.name, rate(median(conversion.taken)),
                copied / median(conversion.taken));
  }
  const double fitted =
      seconds([&] { (void)convert_model({.source = source.string(), .target = (folder / "target.gguf").string(), .quantise = "q4_k"}); });
  std::printf("convert q4_k                        %8.1f MB/s\n", rate(fitted));
  std::fflush(stdout);
}

}  // namespace

void print_file_figures(const std::filesystem::path& parent) {
  std::string name = (parent / "veneer_bench_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw formats::file_error("folder cannot be created", name, errno);
  const fs::path folder = name;
  try {
    print_open(folder);
    const fs::path source = folder / "source.safetensors";
    write_source(source);
    print_hashing(source);
    print_conversion(folder, source);
  } catch (...) {
    fs::remove_all(folder);
    throw;
  }
  fs::remove_all(folder);
}

}  // namespace veneer::bench

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "engine/convert_plan.h"
#include "engine/convert_shards.h"
#include "formats/atomic_file.h"
#include "formats/metadata_fields.h"
#include "formats/sha256.h"
#include "formats/shard_index.h"
#include "formats/write_model.h"
#include "models/family/checkpoint.h"
#include "veneer/model_files.h"

namespace veneer {
namespace {

using formats::ModelFile;
using formats::TargetFormat;
using Metadata = std::map<std::string, std::string>;

constexpr const char* kSourceSha256 = "veneer.source_sha256";
// What others write at most into one shard.
constexpr uint64_t kShardBytes = uint64_t{5} << 30;

// A file as it is now.
using FileId = std::tuple<uint64_t, uint64_t, int64_t, int64_t>;

FileId identify(const std::filesystem::path& path) {
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) != 0) throw Error(ErrorCode::not_found, "convert: file is gone", {{"file", path.string()}});
  return {facts.st_ino, facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
}

std::vector<FileId> identify_all(const ModelFile& file) {
  std::vector<FileId> out;
  for (const std::filesystem::path& path : file.files()) out.push_back(identify(path));
  return out;
}

// As formats::sha256_of_model() has it.
std::string source_hash(const ModelFile& file, const std::atomic<bool>& stop) {
  const auto heed = [&stop](uint64_t, uint64_t) {
    if (stop) throw Error(ErrorCode::cancelled, "convert: stopped");
  };
  std::vector<std::string> hashes;
  for (const std::filesystem::path& path : file.files()) hashes.push_back(formats::sha256_hex_of_file(path, heed));
  return formats::sha256_of_model(file.files(), hashes);
}

uint64_t total_size(const std::vector<std::filesystem::path>& files) {
  uint64_t size = 0;
  for (const std::filesystem::path& path : files) size += std::filesystem::file_size(path);
  return size;
}

// model_type becomes architecture, and a name of GGUF's own or ModelSpec's as the target has it. ModelSpec's names stay in safetensors.
std::string target_key(const std::string& key, TargetFormat format) {
  const std::string common = formats::common_field_name(key);
  if (format == TargetFormat::safetensors) return key.starts_with("general.") || key == "model_type" ? common : key;
  if (common == "title") return "general.name";
  if (common == "architecture" || common == "author" || common == "description" || common == "license" || common == "version")
    return "general." + common;
  return key;
}

bool is_kept_when_stripped(const std::string& key) {
  const std::string common = formats::common_field_name(key);
  constexpr auto kKept =
      std::to_array<std::string_view>({"architecture", "author", "title", "license", "format_version", "prediction_type", "predict_key"});
  for (const std::string_view kept : kKept) {
    if (common == kept) return true;
  }
  return false;
}

Metadata normalised(const Metadata& metadata, TargetFormat format, bool strip, ConvertReport& report) {
  Metadata out;
  for (const auto& [key, value] : metadata) {
    if (key.starts_with("veneer.") || (strip && !is_kept_when_stripped(key))) continue;
    const std::string target = target_key(key, format);
    // Of two keys that become one, a key that keeps its name is the better source.
    if (target == key) {
      out[target] = value;
    } else if (!metadata.contains(target) && out.try_emplace(target, value).second) {
      report.renamed_metadata.emplace(key, target);
    }
  }
  return out;
}

// GGUF files say which architecture they hold. Told by the tensors where the source does not; nothing for what no family here has.
std::optional<std::string> architecture_of(const ModelFile& file) {
  const models::WeightMap tensors = models::tensors_of(file);
  for (const std::string_view prefix : {"model.diffusion_model.", "diffusion_model.", ""}) {
    for (const models::FamilyDef& family : models::all_families()) {
      if (family.has_unet(tensors, std::string(prefix))) return std::string(family.name);
    }
  }
  return std::nullopt;
}

// A file that tells the checksum of its tensors has to have it.
void check_own_checksum(const ModelFile& file, const FileProgress& progress) {
  const std::optional<formats::ToldChecksum> told = formats::told_checksum(file);
  if (!told) return;
  const auto told_progress = [&](uint64_t done, uint64_t total) {
    if (progress) progress("checking the source", done, total);
  };
  const std::string checksum = formats::sha256_hex_of_file(file.files().front(), told_progress, told->begin);
  if (checksum == told->sha256) return;
  throw Error(ErrorCode::corrupt, "convert: tensors of the source are not those that its header tells",
              {{"file", file.name()}, {"want", told->sha256}, {"got", checksum}});
}

void check_own_checksums(const ModelFile& file, const FileProgress& progress) {
  const std::vector<std::filesystem::path> files = file.files();
  if (files.size() == 1) return check_own_checksum(file, progress);
  for (size_t i = 1; i < files.size(); ++i) check_own_checksum(ModelFile::open(files[i]), progress);
}

void report_progress(engine::ConversionPlan& plan, const FileProgress& progress) {
  if (!progress) return;
  uint64_t total = 0;
  for (const auto& tensor : plan.tensors) total += storage_bytes(tensor.dtype, static_cast<uint64_t>(tensor.shape.num_elements()));
  const auto done = std::make_shared<uint64_t>(0);
  for (auto& tensor : plan.tensors) {
    tensor.stream = [stream = std::move(tensor.stream), progress, done, total](const formats::PutBytes& put) {
      stream([&](std::span<const std::byte> bytes) {
        put(bytes);
        *done += bytes.size();
        progress("writing", *done, total);
      });
    };
  }
}

bool is_hash(const std::string& text) { return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos; }

std::string wanted_hash(const ConvertRequest& request) {
  std::string out = request.source_sha256;
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (!out.empty() && !is_hash(out)) throw Error(ErrorCode::invalid, "convert: a SHA-256 has 64 digits 0-9 a-f", {{"sha256", request.source_sha256}});
  return out;
}

void check_source(const std::string& want, const ModelFile& file, const std::vector<FileId>& before, const std::string& sha256) {
  if (identify_all(file) != before) throw Error(ErrorCode::corrupt, "convert: source changed while it was read", {{"file", file.name()}});
  if (!want.empty() && want != sha256) {
    throw Error(ErrorCode::invalid, "convert: source has another SHA-256", {{"file", file.name()}, {"want", want}, {"got", sha256}});
  }
}

// To the disk, and then to its name.
void finish(const ConvertRequest& request, formats::AtomicFile& target, const engine::ConversionPlan& plan, ConvertReport& out) {
  target.sync();
  formats::verify_header(target.temporary_path(), plan.tensors, out.tensors_sha256);
  out.target_bytes = std::filesystem::file_size(target.temporary_path());
  if (request.replace) {
    target.commit();
  } else if (!target.commit_new(request.target)) {
    throw Error(ErrorCode::invalid, "convert: target exists", {{"target", request.target}});
  }
}

void check_target(const ConvertRequest& request) {
  if (request.target.empty()) throw Error(ErrorCode::invalid, "convert: target has no name");
  if (request.shard_bytes > 0 && !formats::is_index_name(request.target)) {
    throw Error(ErrorCode::invalid, "convert: shards need an index as their target",
                {{"target", request.target}, {"allowed", "*" + std::string(formats::kIndexEnding)}});
  }
  std::error_code ignored;
  const auto status = std::filesystem::symlink_status(request.target, ignored);
  // A link gives way itself; but one to a device stands for the device.
  const auto behind = std::filesystem::status(request.target, ignored);
  if (std::filesystem::exists(behind) && !std::filesystem::is_regular_file(behind) && !std::filesystem::is_directory(status)) {
    throw Error(ErrorCode::invalid, "convert: target is not a regular file", {{"target", request.target}});
  }
  if (std::filesystem::is_directory(status)) throw Error(ErrorCode::invalid, "convert: target is a folder", {{"target", request.target}});
  if (std::filesystem::exists(status) && !request.replace) {
    throw Error(ErrorCode::invalid, "convert: target exists", {{"target", request.target}, {"hint", "ask for it to be replaced"}});
  }
}

// A file may be replaced by what it was converted to, when that is asked for; of several, the others would be left without it.
void check_not_a_shard(const ConvertRequest& request, const ModelFile& file) {
  if (file.format() != "sharded safetensors") return;
  for (const std::filesystem::path& source : file.files()) {
    std::error_code ignored;
    if (std::filesystem::equivalent(source, request.target, ignored)) {
      throw Error(ErrorCode::invalid, "convert: target is a part of the source", {{"source", source.string()}, {"target", request.target}});
    }
  }
}

// The names of shards are free, or may be taken, but never from the source.
void check_shards(const ConvertRequest& request, const ModelFile& file, const std::vector<std::filesystem::path>& shards) {
  for (const std::filesystem::path& shard : shards) {
    std::error_code ignored;
    if (!std::filesystem::exists(std::filesystem::symlink_status(shard, ignored))) continue;
    if (!request.replace) throw Error(ErrorCode::invalid, "convert: target exists", {{"target", shard.string()}});
    for (const std::filesystem::path& source : file.files()) {
      if (!std::filesystem::equivalent(source, shard, ignored)) continue;
      throw Error(ErrorCode::invalid, "convert: target is a part of the source", {{"source", source.string()}, {"target", shard.string()}});
    }
  }
}

// Tells the thread that hashes the source to end when the conversion fails, which would wait for it.
struct StopOnExit {
  std::atomic<bool>& stop;
  ~StopOnExit() { stop = true; }
};

}  // namespace

ConvertReport convert_model(const ConvertRequest& request, const FileProgress& progress) {
  check_target(request);
  const std::string want = wanted_hash(request);
  const ModelFile file = ModelFile::open(request.source);
  check_not_a_shard(request, file);
  const std::vector<FileId> before = identify_all(file);
  engine::ConversionPlan plan = engine::plan_conversion(request, file);
  check_own_checksums(file, progress);

  ConvertReport out{.source = request.source, .target = request.target, .source_format = std::string(file.format())};
  out.target_format = plan.format == TargetFormat::gguf ? "gguf" : formats::is_index_name(request.target) ? "sharded safetensors" : "safetensors";
  out.num_tensors = plan.tensors.size();
  out.num_converted = plan.num_converted;
  out.num_left_out = plan.num_left_out;
  out.source_bytes = total_size(file.files());
  Metadata metadata = normalised(file.metadata(), plan.format, request.strip, out);
  if (plan.format == TargetFormat::gguf && !metadata.contains("general.architecture")) {
    if (const auto architecture = architecture_of(file)) metadata["general.architecture"] = *architecture;
  }
  metadata["veneer.source_file"] = std::filesystem::path(request.source).filename().string();
  metadata[kSourceSha256] = formats::digest_placeholder();
  report_progress(plan, progress);

  // Hashing reads the source ahead of the conversion, which then finds it in the system's memory.
  std::atomic<bool> stop = false;
  const std::shared_future<std::string> hash = std::async(std::launch::async, [&] { return source_hash(file, stop); });
  const StopOnExit stop_on_exit{stop};
  const auto late = [&]() -> Metadata {
    out.source_sha256 = hash.get();
    return {{kSourceSha256, out.source_sha256}};
  };
  if (formats::is_index_name(request.target)) {
    engine::ShardWriter shards(request.target, std::move(plan.tensors), request.shard_bytes > 0 ? request.shard_bytes : kShardBytes);
    check_shards(request, file, shards.files());
    shards.write(metadata, late);
    check_source(want, file, before, out.source_sha256);
    shards.commit(request.replace, file.files());
    out.tensors_sha256 = shards.checksum();
    out.target_bytes = shards.size_bytes();
    return out;
  }
  formats::AtomicFile target = formats::AtomicFile::create(request.target);
  out.tensors_sha256 = formats::write_model(target, plan.format, plan.tensors, metadata, late);
  check_source(want, file, before, out.source_sha256);
  finish(request, target, plan, out);
  return out;
}

}  // namespace veneer

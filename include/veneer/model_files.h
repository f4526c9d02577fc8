// Model files as files: how two compare, and how one becomes another. Formats are told by content: safetensors (also in shards), torch's .ckpt and
// .pt, GGUF. Needs no engine.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "veneer/error.h"

namespace veneer {

// One side of a comparison.
struct ComparedFile {
  std::string file = {};
  std::string format = {};  // "safetensors", "sharded safetensors", "torch zip", "torch pickle", "gguf"
  size_t num_tensors = 0;
  uint64_t size_bytes = 0;                    // of the tensors as stored
  std::map<std::string, size_t> dtypes = {};  // dtype -> number of tensors
  std::string prefix = {};                    // taken off the names of tensors so that they meet those of the other file; mostly empty
};

// A field of the metadata under its common name: "modelspec.architecture", "general.architecture" and "model_type" are all "architecture".
struct ComparedField {
  std::string field = {};
  std::string a_key = {}, b_key = {};  // as the files name it; empty where a file has none
  std::string a = {}, b = {};
  bool equal() const { return !a_key.empty() && !b_key.empty() && a == b; }
};

struct ComparedTensor {
  std::string name = {};
  bool in_a = false, in_b = false;
  std::string a_dtype = {}, b_dtype = {};    // "f16", "f8_e4m3fn (scaled)", ...
  std::string a_shape = {}, b_shape = {};    // "[320, 4, 3, 3]"
  std::string a_sha256 = {}, b_sha256 = {};  // of the bytes as stored
  bool same_bytes = false;                   // dtype, shape, scale and every byte
  // Of true values, scales and blocks applied; where dtypes differ too. Infinite where only one side is a number. Only where shapes are the same.
  double largest_absolute = 0, largest_relative = 0;

  bool same_shape() const { return in_a && in_b && a_shape == b_shape; }
  bool same_values() const { return same_shape() && largest_absolute == 0; }
};

struct ModelComparison {
  ComparedFile a, b;
  std::vector<ComparedField> fields = {};    // in alphabetical order
  std::vector<ComparedTensor> tensors = {};  // in alphabetical order
  size_t num_equal = 0;                      // same bytes
  size_t num_same_values = 0;                // stored otherwise, with the same values
  size_t num_different = 0;                  // other values, or another shape
  size_t num_missing = 0;                    // only in a
  size_t num_extra = 0;                      // only in b

  bool same_tensors() const { return num_different + num_missing + num_extra == 0; }
  // Where a conversion noted what it read ("veneer.source_file", ...) is no difference of the models.
  bool same_fields() const {
    for (const ComparedField& field : fields) {
      if (!field.equal() && !field.field.starts_with("veneer.")) return false;
    }
    return true;
  }
};

// (what is being done, bytes done, bytes in all). May throw to stop.
using FileProgress = std::function<void(const std::string& stage, uint64_t done, uint64_t total)>;

// Reads every byte of both files, a piece at a time. Throws Error naming the file that cannot be read.
ModelComparison compare_models(const std::string& a, const std::string& b, const FileProgress& progress = {});

struct ConvertRequest {
  std::string source = {};
  // A name that ends with .gguf is written as GGUF, one that ends with .safetensors.index.json in shards beside it, any other as safetensors.
  std::string target = {};
  std::string dtype = {};          // "f32", "f16", "bf16", "f8_e4m3fn", "f8_e5m2": of every floating tensor; empty: as they are
  std::string quantise = {};       // "q8_0", "q6_k", "q5_k", "q5_1", "q5_0", "q4_k", "q4_1", "q4_0", "q3_k", "q2_k" (GGUF) or
                                   // "fp8_scaled" (safetensors): of matrices; empty: none
  std::string extract = {};        // "unet", "vae" or "clip": that part alone, under the names of a file of its own; empty: everything
  bool prune_ema = false;          // without the running averages of a training
  bool strip = false;              // without whatever no network runs on: averages, optimizer states, noise schedules; and with little metadata
  bool replace = false;            // take the place of a target that exists
  uint64_t shard_bytes = 0;        // of tensors in one shard; 0: 5 GiB
  std::string source_sha256 = {};  // what the source has to be; empty: anything
};

struct ConvertReport {
  std::string source = {}, target = {};
  std::string source_format = {}, target_format = {};
  std::string source_sha256 = {};               // of the file; of a model in shards, of its files: docs/formats/safetensors.md
  std::string tensors_sha256 = {};              // of the target's bytes behind its header; of shards, of lines of theirs like sha256sum's
  uint64_t source_bytes = 0, target_bytes = 0;  // of files
  size_t num_tensors = 0, num_converted = 0, num_left_out = 0;
  std::map<std::string, std::string> renamed_metadata = {};  // key in the source -> key in the target
};

// Reads the source a piece at a time, so that memory stays near its largest tensor or below. Writes to a temporary name beside the target, flushes it
// to the disk, reads it back, checks it and renames it: the target is absent, old or whole at any moment. Its metadata tell the source's SHA-256
// ("veneer.source_sha256") and a checksum of the tensors ("veneer.tensors_sha256"); a source that tells its own is checked against it. Throws Error:
// invalid for a request that breaks a rule (with the allowed values), for a target that exists, a SHA-256 that differs and for values that the dtype
// cannot hold (naming the tensor); corrupt for a source that is broken or changes meanwhile.
ConvertReport convert_model(const ConvertRequest& request, const FileProgress& progress = {});

}  // namespace veneer

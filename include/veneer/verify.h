// Whether a model in memory is what its file says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace veneer {

// A tensor whose bytes in memory are not those of the file.
struct DifferentTensor {
  std::string key;            // as Veneer names the weight
  std::string name;           // as the file does; empty when the file has none
  std::string file_sha256;    // empty when the file has none, or ends before its last byte
  std::string memory_sha256;  // empty when the memory behind the end of the file cannot be read
};

// A tensor that the loader made of what the file holds, so that its bytes are in no file.
struct UncomparedTensor {
  std::string key;
  std::string reason;
};

// One network of a checkpoint.
struct VerifiedPart {
  std::string part;          // "unet", "text_encoder" or "vae"
  std::string architecture;  // "sd1.unet", "clip_l", "vae"
  size_t num_tensors = 0;    // compared
  uint64_t size_bytes = 0;   // of them
  // SHA-256 of the lines "<SHA-256 of the tensor's bytes>  <key>\n" in order of the keys: of the file, read by ordinary reads, and of the memory that
  // the network runs on. Of the tensors that were compared.
  std::string file_sha256, memory_sha256;
  std::vector<DifferentTensor> different;
  std::vector<UncomparedTensor> not_compared;
  // Of names, dtypes, shapes and bytes of all weights in memory, before and after what was run in between. Empty where nothing
  // was.
  std::string fingerprint_before, fingerprint_after;

  bool changed() const { return fingerprint_before != fingerprint_after; }
  bool ok() const { return different.empty() && !changed(); }
};

struct VerifyReport {
  std::string model;
  std::string file;
  std::vector<VerifiedPart> parts;  // those that the checkpoint has
  size_t num_unused = 0;            // tensors of the file that no part uses
  // A file whose header tells a checksum of its tensors ("veneer.tensors_sha256") that they do not have; empty: none does.
  std::string broken_file, told_sha256, tensors_sha256;

  bool ok() const {
    if (!broken_file.empty()) return false;
    for (const VerifiedPart& part : parts) {
      if (!part.ok()) return false;
    }
    return true;
  }
};

}  // namespace veneer

// The tensors of a model in memory against those of a file, byte by byte.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tensor/tensor.h"
#include "veneer/verify.h"

namespace veneer::engine {

// Where a weight lies in a file.
struct FilePlace {
  std::string name;    // of the tensor
  uint64_t begin = 0;  // of its bytes, from the beginning of the file
  uint64_t size_bytes = 0;
  std::filesystem::path file = {};  // a shard; empty: the model's own file
};

// Weight key -> its place. `loader_made`: keys that the file's loader made of other tensors, which are in no place.
struct FilePlaces {
  std::map<std::string, FilePlace, std::less<>> places;
  std::vector<std::string> loader_made;
};

// Fills in what of a part says how it compares: counts, digests, `different` and `not_compared`. The file is read by ordinary reads, a piece at a
// time, by all threads; memory behind its end is not touched. Throws Error naming the file when it cannot be read.
VerifiedPart compare_with_file(const std::map<std::string, Tensor, std::less<>>& memory, const FilePlaces& file, const std::filesystem::path& path);

}  // namespace veneer::engine

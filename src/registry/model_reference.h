// The ways to name a model beside its file name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace veneer::registry {

// "sha256:<16 to 64 hex digits>" (the prefix in either case), "model_id@version" ("stabilityai/sdxl-turbo@v2.1"), "<file name without
// extension>-<first 16 hex digits>", or else a file name. A file name may look like one of the others: a file of that name counts first.
struct ModelReference {
  enum class Kind : uint8_t { name, hash, version, cache_key, broken_hash };  // broken_hash: "sha256:" before anything else
  Kind kind = Kind::name;
  std::string text;  // as it was given
  std::string hash;  // hash, cache_key: lower case
  std::string stem;  // cache_key
};

ModelReference parse_reference(std::string_view text);

// A file's name without extension, or, of an index of shards, without ".safetensors.index.json".
std::string stem_of_model(std::string_view file_name);

// "<stem_of_model>-<first 16 digits of the hash>": distinct for files of one name and different content. The hash has 64 digits.
std::string cache_key(std::string_view file_name, std::string_view sha256);

}  // namespace veneer::registry

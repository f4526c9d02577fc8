// The kinds of model files as data: which tensors a file of each kind has.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace veneer::registry {

// A tensor that has to be there. In `name` a '*' stands for any text. `dim`: a dimension that has the extent `extent`; kAny: of any shape; kRank:
// with `extent` dimensions.
struct Clue {
  static constexpr int kAny = -1;
  static constexpr int kRank = -2;
  std::string_view name;
  int dim = kAny;
  int64_t extent = 0;
};

struct ModelDefinition {
  std::string_view type;
  std::string_view family;
  std::string_view title;
  std::vector<Clue> all = {};   // each of them
  std::vector<Clue> none = {};  // not one of them
};

// A further fact about a file of a type.
struct DetailDefinition {
  std::string_view type;
  std::string_view detail;
  std::vector<Clue> all = {};
};

// What trainers and tools write into metadata, as a part of the value: it counts before the tensors where the family is not certain.
struct MetadataSign {
  std::string_view part;
  std::string_view family;
};

// In the order in which they are tried: the first that matches counts.
std::span<const ModelDefinition> model_definitions();
// All that match count.
std::span<const DetailDefinition> detail_definitions();
// Of modelspec.architecture, ss_base_model_version and general.architecture; the first that matches counts.
std::span<const MetadataSign> metadata_signs();

}  // namespace veneer::registry

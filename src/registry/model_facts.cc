#include "registry/model_facts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "formats/model_file.h"
#include "registry/model_definitions.h"

namespace veneer::registry {
namespace {

// Whether the text fits a pattern in which '*' stands for any text. Linear but for stars in the middle, of which definitions have few.
bool fits(std::string_view text, std::string_view pattern) {
  size_t at = 0, p = 0;
  std::optional<size_t> star;
  size_t retry = 0;
  while (at < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = at;
    } else if (p < pattern.size() && pattern[p] == text[at]) {
      ++p;
      ++at;
    } else if (star) {
      p = *star + 1;
      at = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool has_shape(const TensorFact& tensor, const Clue& clue) {
  if (clue.dim == Clue::kAny) return true;
  if (clue.dim == Clue::kRank) return static_cast<int64_t>(tensor.shape.size()) == clue.extent;
  const auto dim = static_cast<size_t>(clue.dim);
  return dim < tensor.shape.size() && tensor.shape[dim] == clue.extent;
}

// The part of the tensors, which are sorted, whose names begin as the pattern does.
std::pair<const TensorFact*, const TensorFact*> range_of(const std::vector<TensorFact>& tensors, std::string_view pattern) {
  const std::string_view stem = pattern.substr(0, pattern.find('*'));
  const auto first = std::ranges::lower_bound(tensors, stem, {}, [](const TensorFact& fact) { return std::string_view(fact.name); });
  auto last = first;
  if (stem.empty()) {
    last = tensors.end();
  } else {
    while (last != tensors.end() && last->name.starts_with(stem)) ++last;
  }
  return {tensors.data() + (first - tensors.begin()), tensors.data() + (last - tensors.begin())};
}

bool found(const std::vector<TensorFact>& tensors, const Clue& clue) {
  const auto [first, last] = range_of(tensors, clue.name);
  return std::any_of(first, last, [&](const TensorFact& tensor) { return has_shape(tensor, clue) && fits(tensor.name, clue.name); });
}

bool all_found(const std::vector<TensorFact>& tensors, const std::vector<Clue>& clues) {
  return std::ranges::all_of(clues, [&](const Clue& clue) { return found(tensors, clue); });
}

const ModelDefinition* match(const std::vector<TensorFact>& tensors) {
  for (const ModelDefinition& definition : model_definitions()) {
    const auto unwanted = [&](const Clue& clue) { return found(tensors, clue); };
    if (all_found(tensors, definition.all) && std::ranges::none_of(definition.none, unwanted)) return &definition;
  }
  return nullptr;
}

std::string family_by_metadata(const std::map<std::string, std::string>& metadata) {
  for (const char* field : {"modelspec.architecture", "ss_base_model_version", "general.architecture"}) {
    const auto value = metadata.find(field);
    if (value == metadata.end()) continue;
    for (const MetadataSign& sign : metadata_signs()) {
      if (value->second.find(sign.part) != std::string::npos) return std::string(sign.family);
    }
  }
  return {};
}

void add_detail(ModelFacts& facts, std::string_view detail) {
  if (facts.detail.find(detail) != std::string::npos) return;
  facts.detail += (facts.detail.empty() ? "" : ", ") + std::string(detail);
}

void add_details(ModelFacts& facts, const HeaderFacts& header) {
  for (const DetailDefinition& definition : detail_definitions()) {
    if (definition.type == facts.type && all_found(header.tensors, definition.all)) add_detail(facts, definition.detail);
  }
  const auto prediction = header.metadata.find("modelspec.prediction_type");
  if (prediction == header.metadata.end()) return;
  if (prediction->second == "v") add_detail(facts, "v-prediction");
  if (prediction->second == "epsilon") add_detail(facts, "eps-prediction");
}

std::set<int64_t> text_widths(const ModelFacts& facts, const HeaderFacts& header) {
  std::set<int64_t> out;
  for (const TensorFact& tensor : header.tensors) {
    const bool tokens = tensor.name.ends_with("token_embedding.weight") && tensor.shape.size() == 2;
    const bool vectors =
        facts.type == "embedding" && !tensor.shape.empty() &&
        (tensor.name == "emb_params" || tensor.name == "clip_l" || tensor.name == "clip_g" || fits(tensor.name, "*string_to_param*"));
    if (tokens || vectors) out.insert(tensor.shape.back());
  }
  return out;
}

}  // namespace

HeaderFacts read_header(const std::filesystem::path& path) {
  const formats::ModelFile file = formats::ModelFile::open(path);
  HeaderFacts out;
  out.format = file.format();
  out.metadata = file.metadata();
  out.tensors.reserve(file.entries().size());
  for (const formats::ModelFile::Entry& entry : file.entries()) {
    TensorFact fact{entry.name, std::string(to_string(entry.dtype)), {}};
    for (int i = 0; i < entry.shape.rank(); ++i) fact.shape.push_back(entry.shape[i]);
    out.tensors.push_back(std::move(fact));
  }
  std::ranges::sort(out.tensors, {}, &TensorFact::name);
  for (const std::filesystem::path& part : file.files()) {
    std::error_code unknown;
    const uintmax_t size = std::filesystem::file_size(part, unknown);
    if (!unknown) out.size_bytes += size;
  }
  return out;
}

ModelFacts recognise(HeaderFacts header) {
  ModelFacts facts;
  if (const ModelDefinition* definition = match(header.tensors)) {
    facts.type = definition->type;
    facts.family = definition->family;
    facts.title = definition->title;
  }
  const bool adapter = facts.type == "lora" || facts.type == "ip_adapter" || facts.type == "controlnet" || facts.type == "t2i_adapter";
  if (facts.family.empty() && adapter) facts.family = family_by_metadata(header.metadata);
  add_details(facts, header);
  facts.text_widths = text_widths(facts, header);
  facts.format = header.format;
  facts.num_tensors = header.tensors.size();
  facts.size_bytes = header.size_bytes;
  for (const TensorFact& tensor : header.tensors) {
    ++facts.dtypes[tensor.dtype];
    uint64_t elements = 1;
    for (const int64_t extent : tensor.shape) elements *= static_cast<uint64_t>(extent);
    facts.num_parameters += elements;
  }
  facts.metadata = std::move(header.metadata);
  return facts;
}

}  // namespace veneer::registry

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string_view>

#include "formats/metadata_fields.h"
#include "formats/model_file.h"
#include "formats/scaled_fp8.h"
#include "formats/sha256.h"
#include "formats/tensor_difference.h"
#include "veneer/model_files.h"

namespace veneer {
namespace {

using formats::ModelFile;
using Tensors = std::map<std::string, Tensor, std::less<>>;

constexpr size_t kPieceBytes = size_t{4} << 20;

// What files of one part of a model, and trainers, put in front of names.
constexpr auto kPrefixes = std::to_array<std::string_view>({"model.diffusion_model.", "diffusion_model.", "first_stage_model.", "vae.",
                                                            "cond_stage_model.transformer.", "cond_stage_model.", "module.", "model."});

struct Side {
  ModelFile file;
  Tensors tensors;
  ComparedFile facts;
};

std::string dtype_text(const Tensor& tensor) { return std::string(to_string(tensor.dtype())) + (tensor.scale() != 1 ? " (scaled)" : ""); }

Side open_side(const std::string& path) {
  Side out{.file = ModelFile::open(path), .tensors = {}, .facts = {}};
  out.tensors = formats::tensors_with_scales(out.file);
  out.facts.file = path;
  out.facts.format = out.file.format();
  out.facts.num_tensors = out.tensors.size();
  for (const auto& [name, tensor] : out.tensors) {
    out.facts.size_bytes += tensor.size_bytes();
    ++out.facts.dtypes[dtype_text(tensor)];
  }
  return out;
}

Tensors without_prefix(const Tensors& tensors, std::string_view prefix) {
  Tensors out;
  for (const auto& [name, tensor] : tensors) out.emplace(name.starts_with(prefix) ? name.substr(prefix.size()) : name, tensor);
  return out;
}

size_t num_common(const Tensors& a, const Tensors& b) {
  return static_cast<size_t>(std::ranges::count_if(a, [&](const auto& entry) { return b.contains(entry.first); }));
}

// Files that share no name may share them all but for a prefix on one side.
void align_names(Side& a, Side& b) {
  size_t best = num_common(a.tensors, b.tensors);
  if (best > 0) return;
  Side* chosen = nullptr;
  std::string_view chosen_prefix;
  for (const std::string_view prefix : kPrefixes) {
    for (Side* side : {&a, &b}) {
      const size_t common = num_common(without_prefix(side->tensors, prefix), (side == &a ? b : a).tensors);
      if (common <= best) continue;
      best = common;
      chosen = side;
      chosen_prefix = prefix;
    }
  }
  if (chosen == nullptr) return;
  chosen->tensors = without_prefix(chosen->tensors, chosen_prefix);
  chosen->facts.prefix = chosen_prefix;
}

std::vector<ComparedField> compare_fields(const ModelFile& a, const ModelFile& b) {
  const auto a_fields = formats::common_fields(a.metadata()), b_fields = formats::common_fields(b.metadata());
  std::set<std::string> names;
  for (const auto& [name, field] : a_fields) names.insert(name);
  for (const auto& [name, field] : b_fields) names.insert(name);
  std::vector<ComparedField> out;
  for (const std::string& name : names) {
    ComparedField field{.field = name, .a_key = {}, .b_key = {}, .a = {}, .b = {}};
    if (const auto found = a_fields.find(name); found != a_fields.end()) field.a_key = found->second.key, field.a = found->second.value;
    if (const auto found = b_fields.find(name); found != b_fields.end()) field.b_key = found->second.key, field.b = found->second.value;
    out.push_back(std::move(field));
  }
  return out;
}

std::string digest(const ModelFile& file, const Tensor& tensor) {
  formats::Sha256 hash;
  for (std::span<const std::byte> rest = tensor.byte_span(); !rest.empty();) {
    const auto piece = rest.first(std::min(kPieceBytes, rest.size()));
    hash.add(piece);
    file.drop_pages(piece);
    rest = rest.subspan(piece.size());
  }
  return hash.finish_hex();
}

ComparedTensor compare(const std::string& name, const Side& a, const Side& b) {
  ComparedTensor out{.name = name};
  const auto in_a = a.tensors.find(name), in_b = b.tensors.find(name);
  const auto describe = [](const Side& side, const Tensor& tensor, std::string& dtype, std::string& shape, std::string& sha256) {
    dtype = dtype_text(tensor);
    shape = tensor.shape().to_string();
    sha256 = digest(side.file, tensor);
  };
  out.in_a = in_a != a.tensors.end();
  out.in_b = in_b != b.tensors.end();
  if (out.in_a) describe(a, in_a->second, out.a_dtype, out.a_shape, out.a_sha256);
  if (out.in_b) describe(b, in_b->second, out.b_dtype, out.b_shape, out.b_sha256);
  if (!out.same_shape()) return out;
  const Tensor &x = in_a->second, &y = in_b->second;
  out.same_bytes = x.dtype() == y.dtype() && x.scale() == y.scale() && out.a_sha256 == out.b_sha256;
  if (out.same_bytes) return out;
  const formats::TensorDifference difference = formats::tensor_difference(a.file, x, b.file, y);
  out.largest_absolute = difference.largest_absolute;
  out.largest_relative = difference.largest_relative;
  return out;
}

void count(const ComparedTensor& tensor, ModelComparison& out) {
  size_t& number = !tensor.in_b           ? out.num_missing
                   : !tensor.in_a         ? out.num_extra
                   : tensor.same_bytes    ? out.num_equal
                   : tensor.same_values() ? out.num_same_values
                                          : out.num_different;
  ++number;
}

}  // namespace

ModelComparison compare_models(const std::string& a, const std::string& b, const FileProgress& progress) {
  Side first = open_side(a), second = open_side(b);
  align_names(first, second);
  ModelComparison out;
  out.fields = compare_fields(first.file, second.file);
  std::set<std::string> names;
  for (const auto& [name, tensor] : first.tensors) names.insert(name);
  for (const auto& [name, tensor] : second.tensors) names.insert(name);
  const uint64_t total = first.facts.size_bytes + second.facts.size_bytes;
  uint64_t done = 0;
  for (const std::string& name : names) {
    if (progress) progress("comparing", done, total);
    out.tensors.push_back(compare(name, first, second));
    count(out.tensors.back(), out);
    for (const Side* side : {&first, &second}) {
      if (const auto found = side->tensors.find(name); found != side->tensors.end()) done += found->second.size_bytes();
    }
  }
  if (progress) progress("comparing", total, total);
  out.a = std::move(first.facts);
  out.b = std::move(second.facts);
  return out;
}

}  // namespace veneer

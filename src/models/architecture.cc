#include "models/architecture.h"

#include <set>

#include "veneer/error.h"

namespace veneer::models {

using variant::ModuleDef;
using variant::ModuleId;
using variant::ModuleKind;

ModuleId ArchitectureBuilder::add(const std::string& name, ModuleKind kind, const Shape& weight, bool bias, const compute::ConvGeometry& geometry) {
  ModuleDef def{prefix_ + name, kind, bias, geometry};
  architecture_.weights.push_back({def.name + ".weight", weight});
  if (bias) architecture_.weights.push_back({def.name + ".bias", Shape({weight[0]})});
  return architecture_.table.add(std::move(def));
}

ModuleId ArchitectureBuilder::linear(const std::string& name, int64_t in, int64_t out, bool bias) {
  return add(name, ModuleKind::linear, Shape({out, in}), bias);
}

ModuleId ArchitectureBuilder::conv2d(const std::string& name, int64_t in, int64_t out, int64_t kernel, const compute::ConvGeometry& geometry) {
  return add(name, ModuleKind::conv2d, Shape({out, in, kernel, kernel}), true, geometry);
}

ModuleId ArchitectureBuilder::norm(const std::string& name, int64_t channels) { return add(name, ModuleKind::norm, Shape({channels}), true); }

ModuleId ArchitectureBuilder::embedding(const std::string& name, int64_t rows, int64_t width) {
  return add(name, ModuleKind::embedding, Shape({rows, width}), false);
}

void check_weights(std::span<const WeightSpec> specs, const WeightMap& weights, std::string_view source) {
  for (const WeightSpec& spec : specs) {
    const auto found = weights.find(spec.key);
    if (found == weights.end()) {
      throw Error(ErrorCode::corrupt, "model file: a tensor is missing",
                  {{"file", std::string(source)}, {"tensor", spec.key}, {"want", spec.shape.to_string()}});
    }
    const Tensor& tensor = found->second;
    if (tensor.shape() != spec.shape) {
      throw Error(ErrorCode::corrupt, "model file: a tensor has the wrong shape",
                  {{"file", std::string(source)}, {"tensor", spec.key}, {"want", spec.shape.to_string()}, {"got", tensor.shape().to_string()}});
    }
    if (!is_floating(tensor.dtype())) {
      throw Error(ErrorCode::corrupt, "model file: a weight is not of a floating dtype",
                  {{"file", std::string(source)}, {"tensor", spec.key}, {"got", std::string(to_string(tensor.dtype()))}});
    }
  }
}

void check_all_used(std::span<const WeightSpec> specs, const WeightMap& weights, std::string_view stem, std::string_view source) {
  std::set<std::string_view> known;
  for (const WeightSpec& spec : specs) known.insert(spec.key);
  for (auto it = weights.lower_bound(stem); it != weights.end() && it->first.starts_with(stem); ++it) {
    if (known.contains(it->first)) continue;
    throw Error(ErrorCode::unsupported, "model file: a tensor belongs to no part of the network",
                {{"file", std::string(source)}, {"tensor", it->first}});
  }
}

bool ShapeReader::has_any(std::string_view stem) const {
  const std::string key = prefix_ + std::string(stem);
  const auto first = weights_.lower_bound(key);
  return first != weights_.end() && first->first.starts_with(key);
}

const Shape& ShapeReader::shape(std::string_view name) const {
  const std::string key = prefix_ + std::string(name);
  const auto found = weights_.find(key);
  if (found == weights_.end()) throw Error(ErrorCode::corrupt, "model file: a tensor is missing", {{"file", source_}, {"tensor", key}});
  return found->second.shape();
}

int64_t ShapeReader::extent(std::string_view name, int rank, int index) const {
  const Shape& found = shape(name);
  if (found.rank() != rank || found.num_elements() < 1) {
    throw Error(ErrorCode::corrupt, "model file: a tensor has the wrong shape",
                {{"file", source_}, {"tensor", prefix_ + std::string(name)}, {"want", "rank " + std::to_string(rank)}, {"got", found.to_string()}});
  }
  return found[index];
}

}  // namespace veneer::models

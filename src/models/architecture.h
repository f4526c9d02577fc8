// What an architecture asks of a file: its modules in order of execution, and the name and shape of every weight.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"
#include "variant/base_model.h"

namespace veneer::models {

using WeightMap = std::map<std::string, Tensor, std::less<>>;

struct WeightSpec {
  std::string key;  // "diffusion_model.out.2.weight"
  Shape shape;
};

struct Architecture {
  variant::ModuleTable table;
  std::vector<WeightSpec> weights;
};

// Adds modules and the shapes of their weights side by side. Names are given without `prefix`.
class ArchitectureBuilder {
 public:
  explicit ArchitectureBuilder(std::string prefix) : prefix_(std::move(prefix)) {}

  variant::ModuleId linear(const std::string& name, int64_t in, int64_t out, bool bias = true);
  // A square kernel.
  variant::ModuleId conv2d(const std::string& name, int64_t in, int64_t out, int64_t kernel, const compute::ConvGeometry& geometry);
  variant::ModuleId norm(const std::string& name, int64_t channels);
  // A table of `rows` vectors.
  variant::ModuleId embedding(const std::string& name, int64_t rows, int64_t width);
  Architecture finish() { return std::move(architecture_); }

 private:
  variant::ModuleId add(const std::string& name, variant::ModuleKind kind, const Shape& weight, bool bias,
                        const compute::ConvGeometry& geometry = {});
  std::string prefix_;
  Architecture architecture_;
};

// Throws Error(corrupt) naming `source`, the tensor, and what was wanted and found, for the first weight that is absent, has another shape, or is not
// of a floating dtype. Weights that no module asks for are no fault.
void check_weights(std::span<const WeightSpec> specs, const WeightMap& weights, std::string_view source);

// Throws Error(unsupported) naming `source` and the first tensor whose key begins with `stem` and that no module asks for: a part of the network that
// would be left out, or one that was counted short because a tensor is missing.
void check_all_used(std::span<const WeightSpec> specs, const WeightMap& weights, std::string_view stem, std::string_view source);

// Reads extents of named tensors while a configuration is worked out from them.
class ShapeReader {
 public:
  ShapeReader(const WeightMap& weights, std::string prefix, std::string source)
      : weights_(weights), prefix_(std::move(prefix)), source_(std::move(source)) {}

  bool has(std::string_view name) const { return weights_.contains(prefix_ + std::string(name)); }
  // Whether there is any tensor whose name begins so.
  bool has_any(std::string_view stem) const;
  // Throws Error(corrupt) when absent.
  const Shape& shape(std::string_view name) const;
  // Extent `index` of a tensor that has to have `rank` dimensions and at least one element. Throws Error(corrupt) otherwise.
  int64_t extent(std::string_view name, int rank, int index) const;
  const std::string& source() const { return source_; }

 private:
  const WeightMap& weights_;
  std::string prefix_;
  std::string source_;
};

}  // namespace veneer::models

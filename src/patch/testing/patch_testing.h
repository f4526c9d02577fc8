// Small tensors and values for tests of this room.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "patch/adapter_file.h"
#include "patch/calculate_weight.h"
#include "tensor/convert.h"

namespace veneer::patch::testing {

inline constexpr const char* kKey = "layer.weight";

inline Tensor tensor(const Shape& shape, std::vector<float> values) { return Tensor::from(shape, values); }

inline Tensor random_tensor(const Shape& shape, uint32_t seed, float size = 0.5F) {
  Tensor result = Tensor::empty(shape, DType::f32);
  std::mt19937 engine(seed);
  for (float& v : result.mutable_floats()) v = (static_cast<float>(engine() & 0xffffU) / 32768.0F - 1.0F) * size;
  return result;
}

using Parts = std::initializer_list<std::pair<const char*, Tensor>>;

inline AdapterTensors file_with(Parts parts, const std::string& layer = "layer") {
  AdapterTensors file;
  for (const auto& [suffix, part] : parts) file[layer + suffix] = part;
  return file;
}

// The value that a file with these tensors holds for kKey; null when it holds none that is whole.
inline PatchValuePtr value_from(Parts parts) {
  KeyMap map;
  map.add("layer", kKey);
  AdapterReport report = load_adapter(file_with(parts), map, {});
  return report.patches[kKey];
}

inline Tensor scalar_tensor(float value) { return tensor({1}, {value}); }

inline PatchRecord record_of(PatchValuePtr value, double strength = 1, double strength_model = 1) {
  PatchRecord record;
  record.value = std::move(value);
  record.strength_patch = strength;
  record.strength_model = strength_model;
  return record;
}

inline Tensor patched(const Tensor& base, PatchValuePtr value, double strength = 1, PatchCompat compat = PatchCompat::standard) {
  const std::vector<PatchRecord> records = {record_of(std::move(value), strength)};
  CalculateOptions options;
  options.compat = compat;
  return calculate_weight(base, records, kKey, options);
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && std::memcmp(a.bytes(), b.bytes(), a.size_bytes()) == 0;
}

inline void expect_near(const Tensor& got, const Tensor& want, float tolerance) {
  ASSERT_EQ(got.shape(), want.shape());
  for (size_t i = 0; i < static_cast<size_t>(want.num_elements()); ++i) {
    ASSERT_NEAR(got.floats()[i], want.floats()[i], tolerance) << "element " << i;
  }
}

// a [m, k] @ b [k, ...], summed in double.
inline Tensor slow_product(const Tensor& a, const Tensor& b) {
  const int64_t m = a.dim(0), k = b.dim(0), n = b.shape().num_elements_from(1);
  Tensor c = Tensor::zeros({m, n}, DType::f32);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t x = 0; x < k; ++x) sum += static_cast<double>(a.data<float>()[i * k + x]) * static_cast<double>(b.data<float>()[x * n + j]);
      c.mutable_data<float>()[i * n + j] = static_cast<float>(sum);
    }
  }
  return c;
}

// base + factor * difference, element by element.
inline Tensor sum_of(const Tensor& base, const Tensor& difference, float factor) {
  Tensor result = base.clone();
  for (size_t i = 0; i < static_cast<size_t>(base.num_elements()); ++i) result.mutable_floats()[i] += factor * difference.floats()[i];
  return result;
}

}  // namespace veneer::patch::testing

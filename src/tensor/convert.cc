#include "tensor/convert.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <string>

#include "base/parallel.h"
#include "tensor/convert_kernels.h"
#include "tensor/convert_scalar.h"
#include "tensor/quantised_blocks.h"
#include "veneer/error.h"

namespace veneer {

float f16_to_f32(uint16_t bits) { return scalar::f16_to_f32(bits); }
uint16_t f32_to_f16(float value) { return scalar::f32_to_f16(value); }
float bf16_to_f32(uint16_t bits) { return scalar::bf16_to_f32(bits); }
uint16_t f32_to_bf16(float value) { return scalar::f32_to_bf16(value); }
float f8_e4m3fn_to_f32(uint8_t bits) { return scalar::kF8E4M3FN[bits]; }
uint8_t f32_to_f8_e4m3fn(float value) { return scalar::F8E4M3FN::encode(value); }
float f8_e5m2_to_f32(uint8_t bits) { return scalar::kF8E5M2[bits]; }
uint8_t f32_to_f8_e5m2(float value) { return scalar::F8E5M2::encode(value); }

namespace {

// Elements per thread below which starting a team costs more than it saves.
constexpr size_t kGrain = size_t{1} << 16;
// f32 values that pass between a load and a store; stays in L1.
constexpr size_t kBlock = 1024;

// Reads `count` elements of type T, at any alignment, through `convert`.
template <typename T, typename Convert>
void load(const std::byte* source, size_t count, float* out, Convert convert) {
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, source + i * sizeof(T), sizeof(T));
    out[i] = convert(value);
  }
}

template <typename T, typename Convert>
void store(const float* values, size_t count, std::byte* out, Convert convert) {
  for (size_t i = 0; i < count; ++i) {
    const T value = convert(values[i]);
    std::memcpy(out + i * sizeof(T), &value, sizeof(T));
  }
}

// Whether elements of T at `pointer` may be read and written as such.
template <typename T>
bool aligned(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % alignof(T) == 0;
}

// 16-bit elements through a vector loop, or one by one where they lie unaligned.
template <typename Convert>
void load_halves(const std::byte* source, size_t count, float* out, void (*kernel)(const uint16_t*, size_t, float*), Convert convert) {
  if (!aligned<uint16_t>(source)) return load<uint16_t>(source, count, out, convert);
  kernel(reinterpret_cast<const uint16_t*>(source), count, out);
}

template <typename Convert>
void store_halves(const float* values, size_t count, std::byte* out, void (*kernel)(const float*, size_t, uint16_t*), Convert convert) {
  if (!aligned<uint16_t>(out)) return store<uint16_t>(values, count, out, convert);
  kernel(values, count, reinterpret_cast<uint16_t*>(out));
}

void load_f32(DType dtype, const std::byte* source, size_t count, float* out) {
  const auto cast = [](auto value) { return static_cast<float>(value); };
  switch (dtype) {
    case DType::f64: return load<double>(source, count, out, cast);
    case DType::f32: std::memcpy(out, source, count * sizeof(float)); return;
    case DType::f16: return load_halves(source, count, out, kernels::f16_to_f32, scalar::f16_to_f32);
    case DType::bf16: return load_halves(source, count, out, kernels::bf16_to_f32, scalar::bf16_to_f32);
    case DType::f8_e4m3fn: return load<uint8_t>(source, count, out, [](uint8_t v) { return scalar::kF8E4M3FN[v]; });
    case DType::f8_e5m2: return load<uint8_t>(source, count, out, [](uint8_t v) { return scalar::kF8E5M2[v]; });
    case DType::i64: return load<int64_t>(source, count, out, cast);
    case DType::i32: return load<int32_t>(source, count, out, cast);
    case DType::i16: return load<int16_t>(source, count, out, cast);
    case DType::i8: return load<int8_t>(source, count, out, cast);
    case DType::u64: return load<uint64_t>(source, count, out, cast);
    case DType::u32: return load<uint32_t>(source, count, out, cast);
    case DType::u16: return load<uint16_t>(source, count, out, cast);
    case DType::u8: return load<uint8_t>(source, count, out, cast);
    case DType::boolean: return load<uint8_t>(source, count, out, [](uint8_t v) { return v != 0 ? 1.0F : 0.0F; });
    default: throw Error(ErrorCode::internal, "convert: elements in blocks are read by block", {{"dtype", std::string(to_string(dtype))}});
  }
}

// Elements [begin, begin + count) of a quantised tensor; what of a block lies outside is dropped.
void load_blocks(const Tensor& from, size_t begin, size_t count, float* out) {
  const BlockSize block = block_size(from.dtype());
  std::array<float, kMaxBlockElements> values;
  while (count > 0) {
    const size_t skip = begin % block.elements;
    const std::byte* source = from.bytes() + begin / block.elements * block.bytes;
    size_t done = 0;
    if (skip == 0 && count >= block.elements) {
      const size_t blocks = count / block.elements;
      dequantise_blocks(from.dtype(), source, blocks, out);
      done = blocks * block.elements;
    } else {
      dequantise_blocks(from.dtype(), source, 1, values.data());
      done = std::min(count, block.elements - skip);
      std::copy_n(values.data() + skip, done, out);
    }
    begin += done;
    count -= done;
    out += done;
  }
}

// Elements [begin, begin + count) of any tensor as f32.
void load_values(const Tensor& from, size_t begin, size_t count, float* out) {
  if (is_quantised(from.dtype())) return load_blocks(from, begin, count, out);
  load_f32(from.dtype(), from.bytes() + begin * size_of(from.dtype()), count, out);
  if (from.scale() == 1) return;
  for (size_t i = 0; i < count; ++i) out[i] *= from.scale();
}

void store_f32(DType dtype, const float* values, size_t count, std::byte* out) {
  switch (dtype) {
    case DType::f64: return store<double>(values, count, out, [](float v) { return static_cast<double>(v); });
    case DType::f32: std::memcpy(out, values, count * sizeof(float)); return;
    case DType::f16: return store_halves(values, count, out, kernels::f32_to_f16, scalar::f32_to_f16);
    case DType::bf16: return store_halves(values, count, out, kernels::f32_to_bf16, scalar::f32_to_bf16);
    case DType::f8_e4m3fn: return kernels::f32_to_f8_e4m3fn(values, count, reinterpret_cast<uint8_t*>(out));
    case DType::f8_e5m2: return kernels::f32_to_f8_e5m2(values, count, reinterpret_cast<uint8_t*>(out));
    default: throw Error(ErrorCode::unsupported, "convert: target is not a floating dtype", {{"dtype", std::string(to_string(dtype))}});
  }
}

// 64-bit integers keep more bits in f64 than a pass through f32 would leave.
void load_f64(const Tensor& from, size_t first, size_t count, double* out) {
  const std::byte* source = is_floating(from.dtype()) ? nullptr : from.bytes() + first * size_of(from.dtype());
  const auto each = [&]<typename T>(T) {
    for (size_t i = 0; i < count; ++i) {
      T value;
      std::memcpy(&value, source + i * sizeof(T), sizeof(T));
      out[i] = static_cast<double>(value);
    }
  };
  switch (from.dtype()) {
    case DType::i64: return each(int64_t{});
    case DType::u64: return each(uint64_t{});
    case DType::i32: return each(int32_t{});
    case DType::u32: return each(uint32_t{});
    default: break;
  }
  std::array<float, kBlock> values;
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t part = std::min(kBlock, count - begin);
    load_values(from, first + begin, part, values.data());
    for (size_t i = 0; i < part; ++i) out[begin + i] = static_cast<double>(values[i]);
  }
}

void convert_range(const Tensor& from, Tensor& to, size_t begin, size_t end) {
  if (from.dtype() == to.dtype() && from.scale() == 1) {
    const size_t size = size_of(to.dtype());
    std::memcpy(to.mutable_bytes() + begin * size, from.bytes() + begin * size, (end - begin) * size);
  } else if (to.dtype() == DType::f64) {
    load_f64(from, begin, end - begin, to.mutable_data<double>() + begin);
  } else if (to.dtype() == DType::f32) {
    load_values(from, begin, end - begin, to.mutable_data<float>() + begin);
  } else {
    std::array<float, kBlock> values;
    for (size_t i = begin; i < end; i += kBlock) {
      const size_t count = std::min(kBlock, end - i);
      load_values(from, i, count, values.data());
      store_f32(to.dtype(), values.data(), count, to.mutable_bytes() + i * size_of(to.dtype()));
    }
  }
}

}  // namespace

float round_to(float value, DType dtype) {
  std::array<std::byte, sizeof(double)> bytes;
  store_f32(dtype, &value, 1, bytes.data());
  load_f32(dtype, bytes.data(), 1, &value);
  return value;
}

Tensor to_dtype(const Tensor& tensor, DType dtype, Allocator& allocator) {
  if (tensor.dtype() == dtype && tensor.aligned() && tensor.scale() == 1) return tensor;
  if (tensor.dtype() != dtype && (!is_floating(dtype) || is_quantised(dtype))) {
    throw Error(ErrorCode::unsupported, "convert: no such conversion",
                {{"from", std::string(to_string(tensor.dtype()))}, {"to", std::string(to_string(dtype))}});
  }
  Tensor result = Tensor::empty(tensor.shape(), dtype, allocator);
  parallel_for(static_cast<size_t>(tensor.num_elements()), kGrain, [&](size_t begin, size_t end) { convert_range(tensor, result, begin, end); });
  return result;
}

void copy_to_f32(const Tensor& tensor, std::span<float> out) {
  if (static_cast<int64_t>(out.size()) != tensor.num_elements()) {
    throw Error(ErrorCode::invalid, "convert: output has another size than the tensor",
                {{"shape", tensor.shape().to_string()}, {"output", std::to_string(out.size())}});
  }
  parallel_for(out.size(), kGrain, [&](size_t begin, size_t end) { copy_range_to_f32(tensor, begin, out.subspan(begin, end - begin)); });
}

void copy_range_to_f32(const Tensor& tensor, size_t begin, std::span<float> out) {
  assert(begin + out.size() <= static_cast<size_t>(tensor.num_elements()));
  load_values(tensor, begin, out.size(), out.data());
}

void copy_from_f32(std::span<const float> values, DType dtype, std::byte* out) {
  parallel_for(values.size(), kGrain,
               [&](size_t begin, size_t end) { store_f32(dtype, values.data() + begin, end - begin, out + begin * size_of(dtype)); });
}

}  // namespace veneer

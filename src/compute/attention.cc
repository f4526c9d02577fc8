// Work is divided by (image, head, block of queries), and blocks know nothing of each other: so bits depend neither on the number of threads nor on
// how the queries are divided.
#include <algorithm>
#include <cmath>
#include <string>

#include "base/parallel.h"
#include "compute/attention_matmul.h"
#include "compute/attention_tile.h"
#include "compute/check.h"
#include "compute/cpu.h"
#include "compute/op_span.h"
#include "compute/ops.h"

namespace veneer::compute {
namespace {

size_t as_size(int64_t value) { return static_cast<size_t>(value); }

// Keys or values in f32: token t of a head begins at data + image * image_step + head * head_step + t * stride.
struct Rows {
  Tensor owner;
  const float* data = nullptr;
  size_t stride = 0, head_step = 0, image_step = 0;
};

template <typename T>
Rows gather(Context& context, const AttentionOperand& operand, const AttentionShape& shape) {
  const size_t images = as_size(operand.tensor.dim(0)), tokens = as_size(operand.tensor.dim(1)), width = as_size(operand.tensor.dim(2));
  const auto heads = static_cast<size_t>(shape.heads), d = static_cast<size_t>(shape.head_dim);
  Rows rows{.owner = Tensor::empty({operand.tensor.dim(0), shape.heads, operand.tensor.dim(1), shape.head_dim}, DType::f32, context.scratch),
            .stride = d,
            .head_step = tokens * d,
            .image_step = heads * tokens * d};
  rows.data = rows.owner.data<float>();
  auto* to = rows.owner.mutable_data<float>();
  const T* from = operand.tensor.data<T>() + operand.offset;
  constexpr size_t kTokens = 256;
  const size_t blocks = (tokens + kTokens - 1) / kTokens;
  parallel_for(images * heads * blocks, 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t token = i % blocks * kTokens, head = i / blocks % heads, image = i / blocks / heads;
      copy_rows(from + (image * tokens + token) * width + head * d, width, std::min(kTokens, tokens - token), d,
                to + image * rows.image_step + head * rows.head_step + token * d);
    }
  });
  return rows;
}

Rows rows_of(Context& context, const AttentionOperand& operand, const AttentionShape& shape, int64_t queries) {
  if (context.dtype == DType::bf16) return gather<uint16_t>(context, operand, shape);
  // A head's rows lie far apart, in few sets of the second cache. So many that it would lose them from one block of queries to the next are gathered,
  // if enough queries read them.
  constexpr int64_t kMostElements = 131072, kFewQueries = 1024;
  const bool many = operand.tensor.dim(1) * shape.head_dim > kMostElements && queries >= kFewQueries;
  if (many && operand.tensor.dim(2) != shape.head_dim) return gather<float>(context, operand, shape);
  return {.owner = operand.tensor,
          .data = operand.tensor.data<float>() + operand.offset,
          .stride = as_size(operand.tensor.dim(2)),
          .head_step = static_cast<size_t>(shape.head_dim),
          .image_step = as_size(operand.tensor.dim(1) * operand.tensor.dim(2))};
}

// Queries of a block: as many as share a trip of the keys through the caches, but fewer where threads would have nothing to do.
size_t block_size(size_t queries, size_t heads) {
  constexpr size_t kBlocksPerThread = 4, kLeast = 48, kUnit = 16;
  size_t most = kAttentionQueries;
  while (most / 2 >= kLeast && heads * ((queries + most - 1) / most) < kBlocksPerThread * static_cast<size_t>(num_threads())) most /= 2;
  const size_t blocks = (queries + most - 1) / most;
  return ((queries + blocks - 1) / blocks + kUnit - 1) / kUnit * kUnit;
}

template <typename T>
void attention_by_tiles(Context& context, const AttentionOperand& q, const AttentionOperand& k, const AttentionOperand& v,
                        const AttentionShape& shape, Tensor& y) {
  const size_t images = as_size(q.tensor.dim(0)), queries = as_size(q.tensor.dim(1)), row = as_size(q.tensor.dim(2));
  const auto heads = static_cast<size_t>(shape.heads), d = static_cast<size_t>(shape.head_dim);
  const Rows keys = rows_of(context, k, shape, q.tensor.dim(1)), values = rows_of(context, v, shape, q.tensor.dim(1));
  const double scale = shape.scale == 0.0F ? 1.0 / std::sqrt(static_cast<double>(shape.head_dim)) : static_cast<double>(shape.scale);
  const size_t size = block_size(queries, images * heads), blocks = (queries + size - 1) / size;
  // Where all heads' keys and values stay in the second cache, a block goes through all heads, which share lines of queries and results. Else a head
  // goes through all blocks.
  constexpr size_t kCachedElements = 131072;
  const bool heads_first = as_size(k.tensor.dim(1)) * heads * d <= kCachedElements;
  const T* from = q.tensor.data<T>() + q.offset;
  T* to = y.mutable_data<T>();
  parallel_for(images * heads * blocks, 1, [&](size_t begin, size_t end) {
    const auto scratch = context.scratch.allocate(attention_scratch(d) * sizeof(float));
    for (size_t i = begin; i < end; ++i) {
      const size_t in_image = i % (heads * blocks), image = i / (heads * blocks);
      const size_t first = (heads_first ? in_image / heads : in_image % blocks) * size, number = heads_first ? in_image % heads : in_image / blocks;
      AttentionHead head;
      head.keys = keys.data + image * keys.image_step + number * keys.head_step;
      head.values = values.data + image * values.image_step + number * values.head_step;
      head.key_stride = keys.stride;
      head.value_stride = values.stride;
      head.num_keys = as_size(k.tensor.dim(1));
      head.head_dim = d;
      head.factor = static_cast<float>(scale * 1.4426950408889634);
      head.causal = shape.causal;
      AttentionBlock<T> block;
      block.queries = from + (image * queries + first) * row + number * d;
      block.results = to + ((image * queries + first) * heads + number) * d;
      block.query_stride = row;
      block.result_stride = heads * d;
      block.first = first;
      block.count = std::min(size, queries - first);
      attend(head, block, reinterpret_cast<float*>(scratch.get()));
    }
  });
}

void check_operand(const Context& context, const AttentionOperand& operand, const AttentionShape& shape) {
  check_activation(context, operand.tensor, "attention");
  check_that(operand.tensor.rank() == 3, "attention", "an operand is not [N, T, C]", operand.tensor.shape());
  const int64_t width = operand.tensor.dim(2);
  const bool fits = operand.offset >= 0 && operand.offset <= width && shape.head_dim <= (width - operand.offset) / shape.heads;
  check_that(fits, "attention", "an operand has too few channels for the heads", operand.tensor.shape());
}

ProfileWork work_of(const Tensor& q, const Tensor& k, const AttentionShape& shape, DType dtype) {
  const double images = static_cast<double>(q.dim(0)), queries = static_cast<double>(q.dim(1)), keys = static_cast<double>(k.dim(1));
  const double width = static_cast<double>(shape.heads) * static_cast<double>(shape.head_dim);
  // A causal query sees half of the keys on average.
  const double seen = shape.causal ? (queries + 1) / 2 : keys;
  return {"[" + std::to_string(q.dim(0)) + ", " + std::to_string(q.dim(1)) + "] x " + std::to_string(k.dim(1)) + ", " + std::to_string(shape.heads) +
              "x" + std::to_string(shape.head_dim) + (shape.causal ? ", causal" : ""),
          to_string(dtype), 4 * images * queries * seen * width, static_cast<double>(size_of(dtype)) * 2 * images * (queries + keys) * width};
}

}  // namespace

Tensor attention(Context& context, const AttentionOperand& q, const AttentionOperand& k, const AttentionOperand& v, const AttentionShape& shape) {
  check_that(shape.heads > 0 && shape.head_dim > 0, "attention", "heads or head_dim is not positive", {});
  for (const AttentionOperand* operand : {&q, &k, &v}) check_operand(context, *operand, shape);
  const int64_t images = q.tensor.dim(0), queries = q.tensor.dim(1), keys = k.tensor.dim(1);
  check_that(k.tensor.dim(0) == images && v.tensor.dim(0) == images && v.tensor.dim(1) == keys, "attention", "queries, keys and values do not fit",
             k.tensor.shape());
  const ProfileSpan span = op_span(context, "attention", [&] { return work_of(q.tensor, k.tensor, shape, context.dtype); });
  Tensor y = Tensor::empty({images, queries, shape.heads * shape.head_dim}, context.dtype, context.scratch);
  if (y.num_elements() == 0) return y;
  check_that(keys > 0, "attention", "there is no key", k.tensor.shape());
  if (context.dtype == DType::f32) {
    attention_by_tiles<float>(context, q, k, v, shape, y);
  } else if (amx_native()) {
    attention_by_matmuls(context, q, k, v, shape, y);
  } else {
    // Without tiles, oneDNN's products in bf16 take 1.8 to 3.1 times as long on Intel's CPUs (docs/performance.md).
    attention_by_tiles<uint16_t>(context, q, k, v, shape, y);
  }
  return y;
}

}  // namespace veneer::compute

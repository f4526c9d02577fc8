// Attention in tiles: scores of a block of queries against a block of keys, one step of online softmax, times the block of values.
//
// Both products are oneDNN matmuls that run on one thread each, inside of a loop over (image, head, block of queries). Keys and values are packed
// once per head into the layout that the matmuls like. Block sizes depend on the shape alone, so the bits do not depend on the number of threads.
// Blocks of one kind have one size: where it does not divide the tokens, the last block starts earlier and skips what was done already.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "compute/check.h"
#include "compute/onednn.h"
#include "compute/op_span.h"
#include "compute/ops.h"
#include "compute/softmax.h"

namespace veneer::compute {
namespace {

using onednn::Desc;
using onednn::Tag;

// A tile of 128 x 512 scores is 256 KB: it stays in a second-level cache. With few keys more queries fit, and fewer calls are made.
constexpr int64_t kTileScores = 65536;
constexpr int64_t kKeyBlock = 512;
constexpr int64_t kMostQueries = 512;

size_t as_size(int64_t value) { return static_cast<size_t>(value); }
size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

// Equal blocks of at most `most` tokens, multiples of `unit` where there are several.
int64_t block_of(int64_t tokens, int64_t most, int64_t unit) {
  const int64_t blocks = (tokens + most - 1) / most;
  if (blocks <= 1) return tokens;
  return std::min(tokens, ((tokens + blocks - 1) / blocks + unit - 1) / unit * unit);
}

struct PlanKey {
  int64_t queries = 0, keys = 0, head_dim = 0;
  int64_t q_stride = 0, k_stride = 0, v_stride = 0;
  DType dtype = DType::f32;
  bool operator==(const PlanKey&) const = default;
};

// Everything that was compiled for one shape.
struct Plan {
  int64_t query_block = 0, key_block = 0;
  size_t tile_stride = 0;  // of scores and of weights, in elements
  onednn::Operation scores, weigh, pack_keys, pack_values;
  size_t keys_bytes = 0, values_bytes = 0;  // of one packed block
};

std::shared_ptr<const Plan> make_plan(const PlanKey& key) {
  auto plan = std::make_shared<Plan>();
  plan->key_block = block_of(key.keys, kKeyBlock, 16);
  plan->query_block = block_of(key.queries, std::min(kMostQueries, kTileScores / plan->key_block), 1);
  plan->tile_stride = round_up(as_size(plan->key_block), 2 * kSoftmaxUnit);
  const int64_t m = plan->query_block, k = plan->key_block, d = key.head_dim, tile = static_cast<int64_t>(plan->tile_stride);
  const auto type = onednn::data_type(key.dtype), f32 = dnnl::memory::data_type::f32;
  const Desc queries({m, d}, type, dnnl::memory::dims{key.q_stride, 1});
  const Desc keys({d, k}, type, dnnl::memory::dims{1, key.k_stride}), values({k, d}, type, dnnl::memory::dims{key.v_stride, 1});
  const Desc tile_scores({m, k}, f32, dnnl::memory::dims{tile, 1}), tile_weights({m, k}, type, dnnl::memory::dims{tile, 1});
  plan->scores = onednn::compile(onednn::MatmulDescs{queries, Desc({d, k}, type, Tag::any), Desc(), tile_scores}, {}, 1);
  plan->weigh = onednn::compile(onednn::MatmulDescs{tile_weights, Desc({k, d}, type, Tag::any), Desc(), Desc({m, d}, f32, Tag::ab)}, {}, 1, true);
  plan->pack_keys = onednn::compile_reorder(keys, plan->scores.weights, 1);
  plan->pack_values = onednn::compile_reorder(values, plan->weigh.weights, 1);
  plan->keys_bytes = round_up(plan->scores.weights.get_size(), 64);
  plan->values_bytes = round_up(plan->weigh.weights.get_size(), 64);
  return plan;
}

}  // namespace

// The plans of the last shapes. Thread-safe, since copies of a Context share it.
class AttentionPlans {
 public:
  std::shared_ptr<const Plan> get(const PlanKey& key) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(plans_.begin(), plans_.end(), [&](const auto& entry) { return entry.first == key; });
    if (found != plans_.end()) return found->second;
    if (plans_.size() >= kMost) plans_.erase(plans_.begin());
    plans_.emplace_back(key, make_plan(key));
    return plans_.back().second;
  }

 private:
  static constexpr size_t kMost = 64;
  std::mutex mutex_;
  std::vector<std::pair<PlanKey, std::shared_ptr<const Plan>>> plans_;
};

namespace {

// One call.
class Run {
 public:
  Run(Context& context, const Plan& plan, const AttentionOperand& q, const AttentionOperand& k, const AttentionOperand& v,
      const AttentionShape& shape, Tensor& y)
      : context_(context), plan_(plan), q_(q), k_(k), v_(v), shape_(shape), y_(y), unit_(size_of(context.dtype)) {
    key_blocks_ = (k.tensor.dim(1) + plan.key_block - 1) / plan.key_block;
    query_blocks_ = (q.tensor.dim(1) + plan.query_block - 1) / plan.query_block;
    const double scale = shape.scale == 0.0F ? 1.0 / std::sqrt(static_cast<double>(shape.head_dim)) : static_cast<double>(shape.scale);
    factor_ = static_cast<float>(scale * 1.4426950408889634);
  }

  void run() {
    const int64_t heads = q_.tensor.dim(0) * shape_.heads;
    const size_t block = plan_.keys_bytes + plan_.values_bytes;
    packed_ = Tensor::empty({heads, key_blocks_, static_cast<int64_t>(block)}, DType::u8, context_.scratch);
    const size_t pack_scratch = std::max(plan_.pack_keys.scratchpad_bytes, plan_.pack_values.scratchpad_bytes);
    parallel_for(as_size(heads * key_blocks_), 1, [&](size_t begin, size_t end) {
      const auto scratch = context_.scratch.allocate(std::max<size_t>(pack_scratch, 1));
      for (size_t i = begin; i < end; ++i) pack(static_cast<int64_t>(i) / key_blocks_, static_cast<int64_t>(i) % key_blocks_, scratch.get());
    });
    parallel_for(as_size(heads * query_blocks_), 1, [&](size_t begin, size_t end) {
      Tile tile = allocate_tile();
      for (size_t i = begin; i < end; ++i) attend(static_cast<int64_t>(i) / query_blocks_, static_cast<int64_t>(i) % query_blocks_, tile);
    });
  }

 private:
  // A thread's working memory.
  struct Tile {
    SoftmaxTile softmax;
    uint16_t* weights = nullptr;  // bf16 only
    void* scratchpad = nullptr;
    std::shared_ptr<std::byte> block;
  };

  Tile allocate_tile() const {
    const size_t rows = as_size(plan_.query_block), d = as_size(shape_.head_dim);
    const size_t scores = round_up(rows * plan_.tile_stride * sizeof(float), 64), gathered = round_up(rows * d * sizeof(float), 64);
    const size_t sums = round_up(rows * sizeof(float), 64), weights = context_.dtype == DType::bf16 ? round_up(rows * plan_.tile_stride * 2, 64) : 0;
    Tile tile;
    tile.block =
        context_.scratch.allocate(scores + gathered + 2 * sums + weights + std::max(plan_.scores.scratchpad_bytes, plan_.weigh.scratchpad_bytes));
    std::byte* next = tile.block.get();
    const auto take = [&](size_t bytes) { return std::exchange(next, next + bytes); };
    tile.softmax.rows = rows;
    tile.softmax.keys = as_size(plan_.key_block);
    tile.softmax.stride = plan_.tile_stride;
    tile.softmax.factor = factor_;
    tile.softmax.head_dim = d;
    tile.softmax.scores = reinterpret_cast<float*>(take(scores));
    tile.softmax.gathered = reinterpret_cast<float*>(take(gathered));
    tile.softmax.most = reinterpret_cast<float*>(take(sums));
    tile.softmax.total = reinterpret_cast<float*>(take(sums));
    if (weights != 0) tile.weights = reinterpret_cast<uint16_t*>(take(weights));
    tile.scratchpad = next;
    return tile;
  }

  const std::byte* at(const AttentionOperand& operand, int64_t head, int64_t token) const {
    const int64_t image = head / shape_.heads, row = image * operand.tensor.dim(1) + token;
    return operand.tensor.bytes() + as_size(row * operand.tensor.dim(2) + operand.offset + head % shape_.heads * shape_.head_dim) * unit_;
  }

  int64_t first_key_of(int64_t block) const { return std::min(block * plan_.key_block, k_.tensor.dim(1) - plan_.key_block); }
  const std::byte* packed_at(int64_t head, int64_t block) const {
    return packed_.bytes() + as_size(head * key_blocks_ + block) * (plan_.keys_bytes + plan_.values_bytes);
  }

  void pack(int64_t head, int64_t block, void* scratch) {
    const int64_t key = first_key_of(block);
    std::byte* target = packed_.mutable_bytes() + (packed_at(head, block) - packed_.bytes());
    onednn::Arguments keys, values;
    keys.src = at(k_, head, key);
    keys.dst = target;
    values.src = at(v_, head, key);
    values.dst = target + plan_.keys_bytes;
    onednn::execute(plan_.pack_keys, keys, scratch);
    onednn::execute(plan_.pack_values, values, scratch);
  }

  void attend(int64_t head, int64_t block, Tile& tile) {
    const int64_t queries = q_.tensor.dim(1), first = std::min(block * plan_.query_block, queries - plan_.query_block);
    SoftmaxTile& softmax = tile.softmax;
    // Far below every score, but finite: its distance to itself is 0.
    std::fill_n(softmax.most, softmax.rows, -1e30F);
    std::fill_n(softmax.total, softmax.rows, 0.0F);
    std::fill_n(softmax.gathered, softmax.rows * softmax.head_dim, 0.0F);
    for (int64_t b = 0; b < key_blocks_; ++b) {
      const int64_t key = first_key_of(b);
      if (shape_.causal && key >= first + plan_.query_block) break;
      softmax.first_key = b * plan_.key_block - key;
      // Query t sees keys up to t, thus key indices below t + 1 - key here.
      softmax.last_key = shape_.causal ? first + 1 - key : plan_.key_block;
      const std::byte* packed = packed_at(head, b);
      onednn::execute(plan_.scores, {at(q_, head, first), packed, nullptr, nullptr, softmax.scores}, tile.scratchpad);
      const void* weights = softmax.scores;
      if (tile.weights == nullptr) {
        softmax_step_f32(softmax);
      } else {
        softmax_step_bf16(softmax, tile.weights);
        weights = tile.weights;
      }
      onednn::execute(plan_.weigh, {weights, packed + plan_.keys_bytes, nullptr, nullptr, softmax.gathered}, tile.scratchpad);
    }
    write(head, block * plan_.query_block, as_size(block * plan_.query_block - first), softmax);
  }

  void write(int64_t head, int64_t token, size_t skip, const SoftmaxTile& softmax) {
    const int64_t width = shape_.heads * shape_.head_dim, image = head / shape_.heads;
    const int64_t index = (image * q_.tensor.dim(1) + token) * width + head % shape_.heads * shape_.head_dim;
    if (context_.dtype == DType::f32) {
      softmax_finish_f32(softmax, skip, y_.mutable_data<float>() + index, as_size(width));
    } else {
      softmax_finish_bf16(softmax, skip, y_.mutable_data<uint16_t>() + index, as_size(width));
    }
  }

  Context& context_;
  const Plan& plan_;
  const AttentionOperand &q_, &k_, &v_;
  const AttentionShape& shape_;
  Tensor& y_;
  size_t unit_;
  int64_t key_blocks_ = 0, query_blocks_ = 0;
  float factor_ = 0;
  Tensor packed_;
};

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
  if (!context.attention_plans) context.attention_plans = std::make_shared<AttentionPlans>();
  const auto plan = context.attention_plans->get({queries, keys, shape.head_dim, q.tensor.dim(2), k.tensor.dim(2), v.tensor.dim(2), context.dtype});
  Run(context, *plan, q, k, v, shape, y).run();
  return y;
}

}  // namespace veneer::compute

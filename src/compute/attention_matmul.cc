// Scores of a block of queries against a block of keys, one step of online softmax, times the block of values.
//
// Both products are oneDNN matmuls that run on one thread each, inside of a loop over (image, head, block of queries). Keys and values are packed
// once per head into the layout that the matmuls like. Block sizes depend on the shape alone, so the bits do not depend on the number of threads.
// Blocks of one kind have one size: where it does not divide the tokens, the last block starts earlier and skips what was done already.
#include "compute/attention_matmul.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "compute/onednn.h"
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
  const auto type = dnnl::memory::data_type::bf16, f32 = dnnl::memory::data_type::f32;
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
      : context_(context), plan_(plan), q_(q), k_(k), v_(v), shape_(shape), y_(y) {
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
    uint16_t* weights = nullptr;
    void* scratchpad = nullptr;
    std::shared_ptr<std::byte> block;
  };

  Tile allocate_tile() const {
    const size_t rows = as_size(plan_.query_block), d = as_size(shape_.head_dim);
    const size_t scores = round_up(rows * plan_.tile_stride * sizeof(float), 64), gathered = round_up(rows * d * sizeof(float), 64);
    const size_t sums = round_up(rows * sizeof(float), 64), weights = round_up(rows * plan_.tile_stride * sizeof(uint16_t), 64);
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
    tile.weights = reinterpret_cast<uint16_t*>(take(weights));
    tile.scratchpad = next;
    return tile;
  }

  const uint16_t* at(const AttentionOperand& operand, int64_t head, int64_t token) const {
    const int64_t image = head / shape_.heads, row = image * operand.tensor.dim(1) + token;
    return operand.tensor.data<uint16_t>() + row * operand.tensor.dim(2) + operand.offset + head % shape_.heads * shape_.head_dim;
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
      softmax_step(softmax, tile.weights);
      onednn::execute(plan_.weigh, {tile.weights, packed + plan_.keys_bytes, nullptr, nullptr, softmax.gathered}, tile.scratchpad);
    }
    write(head, block * plan_.query_block, as_size(block * plan_.query_block - first), softmax);
  }

  void write(int64_t head, int64_t token, size_t skip, const SoftmaxTile& softmax) {
    const int64_t width = shape_.heads * shape_.head_dim, image = head / shape_.heads;
    const int64_t index = (image * q_.tensor.dim(1) + token) * width + head % shape_.heads * shape_.head_dim;
    softmax_finish(softmax, skip, y_.mutable_data<uint16_t>() + index, as_size(width));
  }

  Context& context_;
  const Plan& plan_;
  const AttentionOperand &q_, &k_, &v_;
  const AttentionShape& shape_;
  Tensor& y_;
  int64_t key_blocks_ = 0, query_blocks_ = 0;
  float factor_ = 0;
  Tensor packed_;
};

}  // namespace

void attention_by_matmuls(Context& context, const AttentionOperand& q, const AttentionOperand& k, const AttentionOperand& v,
                          const AttentionShape& shape, Tensor& y) {
  if (!context.attention_plans) context.attention_plans = std::make_shared<AttentionPlans>();
  const auto plan =
      context.attention_plans->get({q.tensor.dim(1), k.tensor.dim(1), shape.head_dim, q.tensor.dim(2), k.tensor.dim(2), v.tensor.dim(2)});
  Run(context, *plan, q, k, v, shape, y).run();
}

}  // namespace veneer::compute

#include "sampling/brownian_tree.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "sampling/rng.h"
#include "sampling/seed_sequence.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

constexpr size_t kPoolSize = 24;   // words of entropy per node
constexpr int kDigits = 6;         // the tolerance 1e-6
constexpr double kMaxRange = 1e9;  // at most 50 halvings: a node's number fits 64 bits

// The nearest decimal number of 6 digits, ties to even on the exact value.
double rounded(double time) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), time, std::chars_format::fixed, kDigits).ptr;
  double value = 0;
  std::from_chars(text.data(), end, value);
  return value;
}

}  // namespace

struct BrownianTree::Node {
  double start;
  double end;
  uint64_t number;  // among the nodes of its depth, from the left
  uint64_t depth;
};

BrownianTree::BrownianTree(const Shape& shape, uint64_t seed, double start, double end) : shape_(shape), seed_(seed) {
  if (!(start <= end) || !(end - start <= kMaxRange) || std::abs(start) > kMaxRange) {
    throw Error(ErrorCode::invalid, "brownian tree: bad interval", {{"start", std::to_string(start)}, {"end", std::to_string(end)}});
  }
  start_ = rounded(start);
  end_ = rounded(end);
  total_ = normal(seed_sequence_state(seed_, {}, kPoolSize, 1)[0]);
  const auto scale = static_cast<float>(std::sqrt(end - start));
  for (float& value : total_.mutable_floats()) value *= scale;
}

Tensor BrownianTree::normal(uint32_t seed) const {
  TorchGenerator generator(seed);
  return randn(shape_, generator);
}

Tensor BrownianTree::increment(double from, double to) const {
  const double first = rounded(std::clamp(from, start_, end_));
  const double last = rounded(std::clamp(to, start_, end_));
  if (!(first < last)) return Tensor::zeros(shape_, DType::f32);
  Tensor sum;
  add_covered({start_, end_, 0, 0}, total_, first, last, sum);
  return sum;
}

// Adds the increments of the largest nodes that make up [from, to] within `node`, from left to right.
void BrownianTree::add_covered(const Node& node, const Tensor& increment, double from, double to, Tensor& sum) const {
  if (from == node.start && to == node.end) {
    if (!sum.defined()) {
      sum = increment.clone();
      return;
    }
    for (size_t i = 0; i < sum.floats().size(); ++i) sum.mutable_floats()[i] += increment.floats()[i];
    return;
  }
  const double middle = rounded(0.5 * (node.end + node.start));
  const double left_length = middle - node.start;
  const double right_length = node.end - middle;
  const double reciprocal = 1.0 / (node.end - node.start);

  // The bridge: given the increment over the node, the left half's is normal around its share.
  const std::array<uint64_t, 2> key{node.number, node.depth};
  Tensor half = normal(seed_sequence_state(seed_, key, kPoolSize, 1)[0]);
  const auto share = static_cast<float>(left_length);
  const auto per_length = static_cast<float>(reciprocal);
  const auto deviation = static_cast<float>(std::sqrt(left_length * right_length * reciprocal));
  const std::span<float> left = half.mutable_floats();
  const std::span<const float> whole = increment.floats();
  for (size_t i = 0; i < left.size(); ++i) left[i] = share * whole[i] * per_length + deviation * left[i];

  if (from < middle) add_covered({node.start, middle, 2 * node.number, node.depth + 1}, half, from, std::min(to, middle), sum);
  if (to > middle) {
    for (size_t i = 0; i < left.size(); ++i) left[i] = whole[i] - left[i];
    add_covered({middle, node.end, 2 * node.number + 1, node.depth + 1}, half, std::max(from, middle), to, sum);
  }
}

}  // namespace veneer::sampling

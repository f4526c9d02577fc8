#include "nodes/options/token_merge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "base/parallel.h"
#include "compute/weights.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

constexpr int64_t kStride = 2;   // of the squares that keep one token each
constexpr int64_t kChunk = 256;  // tokens whose likeness is worked out at a time

// Tokens at `positions` of one picture [T, C], each of length 1 (0 stays 0): [positions, C].
Tensor directions(const Tensor& picture, const std::vector<int64_t>& positions) {
  const int64_t channels = picture.dim(1);
  Tensor out = Tensor::empty(Shape{static_cast<int64_t>(positions.size()), channels}, DType::f32);
  float* to = out.mutable_data<float>();
  for (const int64_t position : positions) {
    const float* from = picture.data<float>() + position * channels;
    double square = 0;
    for (int64_t c = 0; c < channels; ++c) square += static_cast<double>(from[c]) * static_cast<double>(from[c]);
    const float length = static_cast<float>(std::sqrt(square));
    for (int64_t c = 0; c < channels; ++c) *to++ = length > 0 ? from[c] / length : 0.0F;
  }
  return out;
}

// For each of `others` the staying token that is most like it (the first at a tie), and how much.
struct Likeness {
  std::vector<int64_t> best;
  std::vector<float> cosine;
};

// Where a row of scores is highest, the first at a tie. Scores that are not numbers are never highest.
std::pair<int64_t, float> highest(const float* scores, int64_t count) {
  std::pair<int64_t, float> best{0, -std::numeric_limits<float>::infinity()};
  for (int64_t j = 0; j < count; ++j) {
    if (scores[j] > best.second) best = {j, scores[j]};
  }
  return best;
}

Likeness compare(const Tensor& picture, const std::vector<int64_t>& others, const std::vector<int64_t>& staying) {
  compute::Context context;
  const auto to_staying = compute::Linear::create(directions(picture, staying), {}, DType::f32);
  const Tensor from = directions(picture, others);
  Likeness out{std::vector<int64_t>(others.size()), std::vector<float>(others.size())};
  for (int64_t first = 0; first < from.dim(0); first += kChunk) {
    const Tensor scores = to_staying->forward(context, from.slice(first, std::min(kChunk, from.dim(0) - first)));
    parallel_for(static_cast<size_t>(scores.dim(0)), kChunk / 8, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const auto [best, cosine] = highest(scores.data<float>() + static_cast<int64_t>(i) * scores.dim(1), scores.dim(1));
        out.best[static_cast<size_t>(first) + i] = best;
        out.cosine[static_cast<size_t>(first) + i] = cosine;
      }
    });
  }
  return out;
}

// One position of each whole square, drawn; ascending.
std::vector<int64_t> draw_staying(int64_t height, int64_t width, sampling::TorchGenerator& random) {
  std::vector<int64_t> staying;
  for (int64_t y = 0; y + kStride <= height; y += kStride) {
    for (int64_t x = 0; x + kStride <= width; x += kStride) {
      const int64_t choice = random.random_u32() % (kStride * kStride);
      staying.push_back((y + choice / kStride) * width + x + choice % kStride);
    }
  }
  std::ranges::sort(staying);
  return staying;
}

}  // namespace

std::optional<TokenMerge> TokenMerge::match(const Tensor& tokens, int64_t height, int64_t width, int64_t count, sampling::TorchGenerator& random) {
  if (count <= 0 || height < kStride || width < kStride) return std::nullopt;
  TokenMerge out;
  out.tokens_ = height * width;
  out.staying_ = draw_staying(height, width, random);
  std::vector<int64_t> all(static_cast<size_t>(out.tokens_));
  std::iota(all.begin(), all.end(), 0);
  std::vector<int64_t> others;
  std::ranges::set_difference(all, out.staying_, std::back_inserter(others));
  const auto merged = static_cast<size_t>(std::min(count, static_cast<int64_t>(others.size())));
  for (int64_t n = 0; n < tokens.dim(0); ++n) {
    const Likeness likeness = compare(tokens.slice(n, 1).reshape(Shape{out.tokens_, tokens.dim(2)}), others, out.staying_);
    std::vector<size_t> order(others.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return likeness.cosine[a] > likeness.cosine[b]; });
    Row row;
    for (size_t i = 0; i < order.size(); ++i) {
      if (i >= merged) {
        row.alone.push_back(others[order[i]]);
        continue;
      }
      row.merged.push_back(others[order[i]]);
      row.into.push_back(likeness.best[order[i]]);
    }
    out.rows_.push_back(std::move(row));
  }
  return out;
}

Tensor TokenMerge::merge(const Tensor& tokens) const {
  const int64_t channels = tokens.dim(2);
  const int64_t left = tokens_ - static_cast<int64_t>(rows_.front().merged.size());
  Tensor out = Tensor::empty(Shape{tokens.dim(0), left, channels}, DType::f32);
  float* to = out.mutable_data<float>();
  for (int64_t n = 0; n < tokens.dim(0); ++n) {
    const float* from = tokens.data<float>() + n * tokens_ * channels;
    const Row& row = rows_[static_cast<size_t>(n)];
    for (const int64_t position : row.alone) to = std::copy_n(from + position * channels, channels, to);
    float* means = to;
    for (const int64_t position : staying_) to = std::copy_n(from + position * channels, channels, to);
    std::vector<float> counts(staying_.size(), 1.0F);
    for (size_t i = 0; i < row.merged.size(); ++i) {
      counts[static_cast<size_t>(row.into[i])] += 1.0F;
      for (int64_t c = 0; c < channels; ++c) means[row.into[i] * channels + c] += from[row.merged[i] * channels + c];
    }
    for (size_t i = 0; i < counts.size(); ++i) {
      for (int64_t c = 0; c < channels; ++c) means[static_cast<int64_t>(i) * channels + c] /= counts[i];
    }
  }
  return out;
}

Tensor TokenMerge::unmerge(const Tensor& tokens) const {
  const int64_t channels = tokens.dim(2);
  const Shape want{static_cast<int64_t>(rows_.size()), tokens_ - static_cast<int64_t>(rows_.front().merged.size()), channels};
  if (tokens.shape() != want) {
    throw Error(ErrorCode::invalid, "token merging: the attention returned other tokens than it got",
                {{"want", want.to_string()}, {"got", tokens.shape().to_string()}});
  }
  Tensor out = Tensor::empty(Shape{tokens.dim(0), tokens_, channels}, DType::f32);
  const float* from = tokens.data<float>();
  for (int64_t n = 0; n < tokens.dim(0); ++n) {
    float* to = out.mutable_data<float>() + n * tokens_ * channels;
    const Row& row = rows_[static_cast<size_t>(n)];
    for (const int64_t position : row.alone) {
      std::copy_n(from, channels, to + position * channels);
      from += channels;
    }
    for (size_t i = 0; i < row.merged.size(); ++i) std::copy_n(from + row.into[i] * channels, channels, to + row.merged[i] * channels);
    for (const int64_t position : staying_) {
      std::copy_n(from, channels, to + position * channels);
      from += channels;
    }
  }
  return out;
}

AttentionPatchPair merge_tokens(double ratio) {
  const auto before = [ratio](const variant::AttentionInputs& inputs, const variant::PatchCall& call) -> variant::AttentionInputs {
    const int64_t tokens = inputs.n.dim(1);
    // Full resolution only, with the tokens in their places.
    const bool whole = call.latent_height * call.latent_width / tokens <= 1 && tokens == call.height * call.width;
    sampling::TorchGenerator fixed(0);  // outside of a run
    const int64_t count = whole ? static_cast<int64_t>(static_cast<double>(tokens) * ratio) : 0;
    auto match = TokenMerge::match(inputs.n, call.height, call.width, count, call.run != nullptr ? call.run->random : fixed);
    if (!match) {
      remember_undo(call, {});
      return inputs;
    }
    const auto merge = std::make_shared<const TokenMerge>(std::move(*match));
    remember_undo(call, [merge](const Tensor& merged) { return merge->unmerge(merged); });
    return {merge->merge(inputs.n), inputs.context, inputs.value};
  };
  const Fingerprint id = FingerprintBuilder().add("TomePatchModel").add(ratio).finish();
  return {{id, before}, {id, undo_last}};
}

}  // namespace veneer::nodes

#include "nodes/options/self_attention_guidance.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "sampling/gaussian_blur.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

constexpr const char* kReceived = "self-attention guidance: attention received";
constexpr int64_t kTooSmall = 4;

// One head of one row: q, k, v and out are columns of rows that are `stride` wide.
struct Head {
  const float *q, *k, *v;
  float* out;
  int64_t queries, keys, size, stride;
};

// softmax(q k^T / sqrt(size)) v; adds the weights that each key gets from all queries to `received` [keys].
void attend(const Head& head, float* received) {
  std::vector<float> keys_by_channel(static_cast<size_t>(head.size * head.keys));
  for (int64_t j = 0; j < head.keys; ++j) {
    for (int64_t c = 0; c < head.size; ++c) keys_by_channel[static_cast<size_t>(c * head.keys + j)] = head.k[j * head.stride + c];
  }
  const float scale = 1.0F / std::sqrt(static_cast<float>(head.size));
  std::vector<float> weights(static_cast<size_t>(head.keys));
  for (int64_t i = 0; i < head.queries; ++i) {
    std::ranges::fill(weights, 0.0F);
    for (int64_t c = 0; c < head.size; ++c) {
      const float q = head.q[i * head.stride + c] * scale;
      const float* k = keys_by_channel.data() + c * head.keys;
      for (int64_t j = 0; j < head.keys; ++j) weights[static_cast<size_t>(j)] += q * k[j];
    }
    const float highest = std::ranges::max(weights);
    float sum = 0;
    for (float& w : weights) sum += w = std::exp(w - highest);
    float* out = head.out + i * head.stride;
    std::fill_n(out, head.size, 0.0F);
    for (int64_t j = 0; j < head.keys; ++j) {
      const float w = weights[static_cast<size_t>(j)] / sum;
      received[j] += w;
      for (int64_t c = 0; c < head.size; ++c) out[c] += w * head.v[j * head.stride + c];
    }
  }
}

// The rows of `received` [B, heads, keys] that belong to the first negative chunk, as means over the heads: [N, height, width].
Tensor mean_over_heads(const Tensor& received, const variant::PatchCall& call, int64_t first, int64_t rows) {
  const int64_t heads = received.dim(1);
  const int64_t keys = received.dim(2);
  Tensor out = Tensor::zeros(Shape{rows, call.height, call.width}, DType::f32);
  for (int64_t n = 0; n < rows; ++n) {
    float* to = out.mutable_data<float>() + n * keys;
    for (int64_t h = 0; h < heads; ++h) {
      const float* from = received.data<float>() + ((first + n) * heads + h) * keys;
      for (int64_t j = 0; j < keys; ++j) to[j] += from[j];
    }
    for (int64_t j = 0; j < keys; ++j) to[j] /= static_cast<float>(heads);
  }
  return out;
}

Tensor attend_and_note(const variant::QKV& qkv, const variant::PatchCall& call) {
  const int64_t batch = qkv.q.dim(0);
  const int64_t queries = qkv.q.dim(1);
  const int64_t keys = qkv.k.dim(1);
  const int64_t stride = qkv.q.dim(2);
  const int64_t heads = call.heads;
  const int64_t size = stride / heads;
  Tensor out = Tensor::empty(qkv.q.shape(), DType::f32);
  Tensor received = Tensor::zeros(Shape{batch, heads, keys}, DType::f32);
  float* to = out.mutable_data<float>();
  float* sums = received.mutable_data<float>();
  parallel_for(static_cast<size_t>(batch * heads), 1, [&](size_t begin, size_t end) {
    for (auto i = static_cast<int64_t>(begin); i < static_cast<int64_t>(end); ++i) {
      const int64_t q = i / heads * queries * stride + i % heads * size;
      const int64_t k = i / heads * keys * stride + i % heads * size;
      attend({qkv.q.data<float>() + q, qkv.k.data<float>() + k, qkv.v.data<float>() + k, to + q, queries, keys, size, stride}, sums + i * keys);
    }
  });
  const auto negative = std::ranges::find(call.cond_or_uncond, 1);
  if (call.run == nullptr || negative == call.cond_or_uncond.end() || keys != call.height * call.width) return out;
  const int64_t rows = batch / static_cast<int64_t>(call.cond_or_uncond.size());
  call.run->notes.get<Tensor>(kReceived) = mean_over_heads(received, call, (negative - call.cond_or_uncond.begin()) * rows, rows);
  return out;
}

Tensor guide(const sampling::GuidanceCall& call, const Tensor& denoised, double scale, double blur_sigma) {
  if (denoised.dim(2) <= kTooSmall || denoised.dim(3) <= kTooSmall) return denoised;
  const Tensor& uncond = call.predictions.uncond;
  const Tensor* received = call.run.notes.find<Tensor>(kReceived);
  if (!uncond.defined() || received == nullptr || received->dim(0) != denoised.dim(0)) {
    throw Error(ErrorCode::invalid, "self-attention guidance: the network's middle block gave no attention to go by");
  }
  const Tensor degraded = blur_attended(uncond, sampling::gaussian_blur(uncond, blur_sigma), *received);
  Tensor start = degraded.clone();
  for (size_t i = 0; i < start.floats().size(); ++i) start.mutable_floats()[i] += call.x.floats()[i] - uncond.floats()[i];
  const Tensor again = call.evaluate({.prompts = sampling::Evaluation::Prompts::negative, .x = start});
  Tensor out = denoised.clone();
  const auto to = out.mutable_floats();
  const float strength = static_cast<float>(scale);
  for (size_t i = 0; i < to.size(); ++i) to[i] += (degraded.floats()[i] - again.floats()[i]) * strength;
  return out;
}

}  // namespace

variant::Identified<Tensor(const variant::QKV&, const variant::PatchCall&)> noting_attention() {
  return {FingerprintBuilder().add("SelfAttentionGuidance attention").finish(), attend_and_note};
}

sampling::Hook<Tensor(const sampling::GuidanceCall&, const Tensor&)> self_attention_guidance(double scale, double blur_sigma) {
  return {FingerprintBuilder().add("SelfAttentionGuidance").add(scale).add(blur_sigma).finish(),
          [=](const sampling::GuidanceCall& call, const Tensor& denoised) { return guide(call, denoised, scale, blur_sigma); }};
}

Tensor blur_attended(const Tensor& latent, const Tensor& blurred, const Tensor& received) {
  Tensor out = latent.clone();
  const int64_t height = latent.dim(2);
  const int64_t width = latent.dim(3);
  const int64_t rows = received.dim(1);
  const int64_t columns = received.dim(2);
  for (int64_t p = 0; p < latent.dim(0) * latent.dim(1); ++p) {
    for (int64_t y = 0; y < height; ++y) {
      const float* row = received.data<float>() + (p / latent.dim(1) * rows + y * rows / height) * columns;
      for (int64_t x = 0; x < width; ++x) {
        const int64_t i = (p * height + y) * width + x;
        if (row[x * columns / width] > 1.0F) out.mutable_data<float>()[i] = blurred.data<float>()[i];
      }
    }
  }
  return out;
}

}  // namespace veneer::nodes

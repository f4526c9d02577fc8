// Slow truth for the networks' tests: plain loops in double precision over [N, C, H, W], driven by the names of the weights and nothing else.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "models/architecture.h"
#include "tensor/convert.h"

namespace veneer::models::naive {

struct Planes {
  int64_t n = 0, c = 0, h = 0, w = 0;
  std::vector<double> values;

  Planes(int64_t n_, int64_t c_, int64_t h_, int64_t w_) : n(n_), c(c_), h(h_), w(w_), values(static_cast<size_t>(n_ * c_ * h_ * w_)) {}
  double& at(int64_t i, int64_t j, int64_t y, int64_t x) { return values[static_cast<size_t>(((i * c + j) * h + y) * w + x)]; }
  double at(int64_t i, int64_t j, int64_t y, int64_t x) const { return values[static_cast<size_t>(((i * c + j) * h + y) * w + x)]; }
};

// [N, C, H, W] f32.
inline Planes from_tensor(const Tensor& t) {
  Planes out(t.dim(0), t.dim(1), t.dim(2), t.dim(3));
  std::copy(t.floats().begin(), t.floats().end(), out.values.begin());
  return out;
}

inline Tensor to_tensor(const Planes& p) {
  Tensor out = Tensor::empty(Shape({p.n, p.c, p.h, p.w}), DType::f32);
  std::transform(p.values.begin(), p.values.end(), out.mutable_data<float>(), [](double v) { return static_cast<float>(v); });
  return out;
}

inline Planes add(Planes a, const Planes& b) {
  for (size_t i = 0; i < a.values.size(); ++i) a.values[i] += b.values.at(i);
  return a;
}

inline Planes silu(Planes x) {
  for (double& v : x.values) v = v / (1 + std::exp(-v));
  return x;
}

class Network {
 public:
  explicit Network(const WeightMap& weights) : weights_(weights) {}

  bool has(const std::string& name) const { return weights_.contains(name + ".weight"); }
  std::vector<double> values(const std::string& key) const {
    const auto found = weights_.find(key);
    if (found == weights_.end()) return {};
    const Tensor f32 = to_dtype(found->second, DType::f32);
    return {f32.floats().begin(), f32.floats().end()};
  }

  // Also a linear layer over tokens, which are pixels here.
  Planes conv(const Planes& x, const std::string& name, int64_t stride = 1, int64_t before = -1, int64_t after = -1) const {
    const Shape shape = weights_.find(name + ".weight")->second.shape();
    const int64_t out_channels = shape[0];
    const int64_t k = shape.rank() == 4 ? shape[2] : 1;
    if (before < 0) before = after = k / 2;
    const std::vector<double> w = values(name + ".weight");
    const std::vector<double> b = values(name + ".bias");
    Planes out(x.n, out_channels, (x.h + before + after - k) / stride + 1, (x.w + before + after - k) / stride + 1);
    for (int64_t i = 0; i < x.n; ++i)
      for (int64_t o = 0; o < out_channels; ++o)
        for (int64_t y = 0; y < out.h; ++y)
          for (int64_t z = 0; z < out.w; ++z) {
            double sum = b.empty() ? 0 : b[static_cast<size_t>(o)];
            for (int64_t c = 0; c < x.c; ++c)
              for (int64_t dy = 0; dy < k; ++dy)
                for (int64_t dz = 0; dz < k; ++dz) {
                  const int64_t sy = y * stride + dy - before;
                  const int64_t sz = z * stride + dz - before;
                  if (sy < 0 || sz < 0 || sy >= x.h || sz >= x.w) continue;
                  sum += x.at(i, c, sy, sz) * w[static_cast<size_t>(((o * x.c + c) * k + dy) * k + dz)];
                }
            out.at(i, o, y, z) = sum;
          }
    return out;
  }

  Planes group_norm(const Planes& x, const std::string& name, double eps, int64_t groups = 32) const {
    return normalised(x, name, eps, x.c / groups, true);
  }
  // Over the channels of each pixel.
  Planes layer_norm(const Planes& x, const std::string& name) const { return normalised(x, name, 1e-5, x.c, false); }

  // softmax(q k^T / sqrt(d)) v per head; pixels are tokens.
  static Planes attention(const Planes& q, const Planes& k, const Planes& v, int64_t heads) {
    const int64_t d = q.c / heads;
    Planes out(q.n, q.c, q.h, q.w);
    std::vector<double> p(static_cast<size_t>(k.h * k.w));
    for (int64_t i = 0; i < q.n; ++i)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t t = 0; t < q.h * q.w; ++t) {
          double sum = 0;
          for (size_t s = 0; s < p.size(); ++s) {
            double dot = 0;
            for (int64_t c = h * d; c < (h + 1) * d; ++c)
              dot += q.at(i, c, t / q.w, t % q.w) * k.at(i, c, static_cast<int64_t>(s) / k.w, static_cast<int64_t>(s) % k.w);
            sum += p[s] = std::exp(dot / std::sqrt(static_cast<double>(d)));
          }
          for (int64_t c = h * d; c < (h + 1) * d; ++c) {
            double mixed = 0;
            for (size_t s = 0; s < p.size(); ++s) mixed += p[s] * v.at(i, c, static_cast<int64_t>(s) / k.w, static_cast<int64_t>(s) % k.w);
            out.at(i, c, t / q.w, t % q.w) = mixed / sum;
          }
        }
    return out;
  }

  static Planes upsampled(const Planes& x, int64_t height, int64_t width) {
    Planes out(x.n, x.c, height, width);
    for (int64_t i = 0; i < x.n; ++i)
      for (int64_t c = 0; c < x.c; ++c)
        for (int64_t y = 0; y < height; ++y)
          for (int64_t z = 0; z < width; ++z) out.at(i, c, y, z) = x.at(i, c, y * x.h / height, z * x.w / width);
    return out;
  }

 private:
  // Over `group` channels at a time, all pixels together or each alone.
  Planes normalised(const Planes& x, const std::string& name, double eps, int64_t group, bool across_pixels) const {
    const std::vector<double> w = values(name + ".weight");
    const std::vector<double> b = values(name + ".bias");
    Planes out = x;
    const int64_t pixels = x.h * x.w;
    const int64_t places = across_pixels ? 1 : pixels;
    for (int64_t i = 0; i < x.n; ++i)
      for (int64_t first = 0; first < x.c; first += group)
        for (int64_t place = 0; place < places; ++place) {
          std::vector<size_t> members;
          for (int64_t c = first; c < first + group; ++c)
            for (int64_t p = across_pixels ? 0 : place; p < (across_pixels ? pixels : place + 1); ++p)
              members.push_back(static_cast<size_t>((i * x.c + c) * pixels + p));
          double mean = 0;
          double variance = 0;
          for (const size_t m : members) mean += x.values[m] / static_cast<double>(members.size());
          for (const size_t m : members) variance += (x.values[m] - mean) * (x.values[m] - mean) / static_cast<double>(members.size());
          for (const size_t m : members) {
            const auto c = static_cast<size_t>(static_cast<int64_t>(m) / pixels % x.c);
            out.values[m] = (x.values[m] - mean) / std::sqrt(variance + eps) * w[c] + b[c];
          }
        }
    return out;
  }

  const WeightMap& weights_;
};

}  // namespace veneer::models::naive

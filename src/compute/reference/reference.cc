#include "compute/reference/reference.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace veneer::compute::reference {
namespace {

double silu_of(double x) { return x / (1.0 + std::exp(-x)); }
double gelu_of(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }

double activate(double x, Activation activation) {
  switch (activation) {
    case Activation::none: return x;
    case Activation::silu: return silu_of(x);
    case Activation::gelu: return gelu_of(x);
    case Activation::quick_gelu: return x / (1.0 + std::exp(-1.702 * x));
  }
  return x;
}

template <typename Function>
Tensor map(const Tensor& x, Function function) {
  Tensor y = Tensor::empty(x.shape(), DType::f32);
  std::transform(x.floats().begin(), x.floats().end(), y.mutable_floats().begin(),
                 [&](float v) { return static_cast<float>(function(static_cast<double>(v))); });
  return y;
}

double finish(double sum, int64_t channel, size_t index, const Tensor& bias, const Epilogue& epilogue) {
  if (bias.defined()) sum += static_cast<double>(bias.data<float>()[channel]);
  sum = activate(sum, epilogue.activation);
  if (epilogue.residual != nullptr) sum += static_cast<double>(epilogue.residual->data<float>()[index]);
  return sum;
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, const Epilogue& epilogue) {
  const int64_t in = weight.dim(1), out = weight.dim(0), rows = x.num_elements() / in;
  Tensor y = Tensor::empty(x.shape().with(x.rank() - 1, out), DType::f32);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t o = 0; o < out; ++o) {
      double sum = 0;
      for (int64_t i = 0; i < in; ++i)
        sum += static_cast<double>(x.data<float>()[r * in + i]) * static_cast<double>(weight.data<float>()[o * in + i]);
      y.mutable_data<float>()[r * out + o] = static_cast<float>(finish(sum, o, static_cast<size_t>(r * out + o), bias, epilogue));
    }
  }
  return y;
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvGeometry& g, const Epilogue& epilogue) {
  const int64_t n = x.dim(0), h = x.dim(1), w = x.dim(2), in = x.dim(3), out = weight.dim(0), kh = weight.dim(2), kw = weight.dim(3);
  const int64_t oh = (h + g.pad_top + g.pad_bottom - kh) / g.stride + 1, ow = (w + g.pad_left + g.pad_right - kw) / g.stride + 1;
  Tensor y = Tensor::empty({n, oh, ow, out}, DType::f32);
  const auto product = [&](int64_t b, int64_t row, int64_t column, int64_t o, int64_t ky, int64_t kx) {
    double sum = 0;
    if (row < 0 || row >= h || column < 0 || column >= w) return sum;
    for (int64_t i = 0; i < in; ++i) {
      sum += static_cast<double>(x.data<float>()[((b * h + row) * w + column) * in + i]) *
             static_cast<double>(weight.data<float>()[((o * in + i) * kh + ky) * kw + kx]);
    }
    return sum;
  };
  for (int64_t index = 0; index < y.num_elements(); ++index) {
    const int64_t o = index % out, px = index / out % ow, py = index / out / ow % oh, b = index / out / ow / oh;
    double sum = 0;
    for (int64_t ky = 0; ky < kh; ++ky) {
      for (int64_t kx = 0; kx < kw; ++kx) sum += product(b, py * g.stride + ky - g.pad_top, px * g.stride + kx - g.pad_left, o, ky, kx);
    }
    y.mutable_data<float>()[index] = static_cast<float>(finish(sum, o, static_cast<size_t>(index), bias, epilogue));
  }
  return y;
}

Tensor group_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, int groups, float eps, bool silu, const Tensor* channel_add) {
  const int64_t n = x.dim(0), c = x.dim(x.rank() - 1), rows = n == 0 ? 0 : x.num_elements() / n / c, per_group = c / groups;
  Tensor y = Tensor::empty(x.shape(), DType::f32);
  for (int64_t b = 0; b < n; ++b) {
    const auto value = [&](int64_t r, int64_t channel) {
      const double v = static_cast<double>(x.data<float>()[(b * rows + r) * c + channel]);
      return channel_add == nullptr ? v : v + static_cast<double>(channel_add->data<float>()[b * c + channel]);
    };
    for (int64_t g = 0; g < groups; ++g) {
      double mean = 0, variance = 0;
      const double count = static_cast<double>(rows * per_group);
      for (int64_t i = 0; i < rows * per_group; ++i) mean += value(i / per_group, g * per_group + i % per_group) / count;
      for (int64_t i = 0; i < rows * per_group; ++i) {
        const double d = value(i / per_group, g * per_group + i % per_group) - mean;
        variance += d * d / count;
      }
      for (int64_t i = 0; i < rows * per_group; ++i) {
        const int64_t r = i / per_group, channel = g * per_group + i % per_group;
        const double normal = (value(r, channel) - mean) / std::sqrt(variance + static_cast<double>(eps));
        const double v = normal * static_cast<double>(weight.data<float>()[channel]) + static_cast<double>(bias.data<float>()[channel]);
        y.mutable_data<float>()[(b * rows + r) * c + channel] = static_cast<float>(silu ? silu_of(v) : v);
      }
    }
  }
  return y;
}

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, float eps) {
  const int64_t c = x.dim(x.rank() - 1);
  // A row of LayerNorm is one image of one pixel with one group.
  return group_norm(x.reshape({x.num_elements() / c, 1, c}), weight, bias, 1, eps, false, nullptr).reshape(x.shape());
}

Tensor geglu(const Tensor& x) {
  const int64_t wide = x.dim(x.rank() - 1), d = wide / 2;
  Tensor y = Tensor::empty(x.shape().with(x.rank() - 1, d), DType::f32);
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    const float* row = x.data<float>() + i / d * wide;
    y.mutable_data<float>()[i] = static_cast<float>(static_cast<double>(row[i % d]) * gelu_of(static_cast<double>(row[d + i % d])));
  }
  return y;
}

Tensor attention(const AttentionOperand& q, const AttentionOperand& k, const AttentionOperand& v, const AttentionShape& shape) {
  const int64_t n = q.tensor.dim(0), tq = q.tensor.dim(1), tk = k.tensor.dim(1), d = shape.head_dim;
  const double factor = shape.scale == 0.0F ? 1.0 / std::sqrt(static_cast<double>(d)) : static_cast<double>(shape.scale);
  const auto at = [](const AttentionOperand& operand, int64_t b, int64_t t, int64_t channel) {
    return static_cast<double>(operand.tensor.data<float>()[(b * operand.tensor.dim(1) + t) * operand.tensor.dim(2) + operand.offset + channel]);
  };
  Tensor y = Tensor::empty({n, tq, shape.heads * d}, DType::f32);
  std::vector<double> p(static_cast<size_t>(tk));
  for (int64_t index = 0; index < n * shape.heads * tq; ++index) {
    const int64_t t = index % tq, head = index / tq % shape.heads, b = index / tq / shape.heads;
    const int64_t keys = shape.causal ? std::min(tk, t + 1) : tk;
    double most = -INFINITY, total = 0;
    for (int64_t j = 0; j < keys; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < d; ++i) sum += at(q, b, t, head * d + i) * at(k, b, j, head * d + i);
      p[static_cast<size_t>(j)] = sum * factor;
      most = std::max(most, sum * factor);
    }
    for (int64_t j = 0; j < keys; ++j) total += p[static_cast<size_t>(j)] = std::exp(p[static_cast<size_t>(j)] - most);
    for (int64_t i = 0; i < d; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < keys; ++j) sum += p[static_cast<size_t>(j)] * at(v, b, j, head * d + i);
      y.mutable_data<float>()[(b * tq + t) * shape.heads * d + head * d + i] = static_cast<float>(sum / total);
    }
  }
  return y;
}

Tensor upsample_nearest(const Tensor& x, int64_t height, int64_t width) {
  const int64_t n = x.dim(0), h = x.dim(1), w = x.dim(2), c = x.dim(3);
  Tensor y = Tensor::empty({n, height, width, c}, DType::f32);
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    const int64_t channel = i % c, px = i / c % width * w / width, py = i / c / width % height * h / height, b = i / c / width / height;
    y.mutable_data<float>()[i] = x.data<float>()[((b * h + py) * w + px) * c + channel];
  }
  return y;
}

Tensor concat_channels(const Tensor& a, const Tensor& b) {
  const int64_t ca = a.dim(a.rank() - 1), cb = b.dim(b.rank() - 1), c = ca + cb;
  Tensor y = Tensor::empty(a.shape().with(a.rank() - 1, c), DType::f32);
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    const int64_t row = i / c, channel = i % c;
    y.mutable_data<float>()[i] = channel < ca ? a.data<float>()[row * ca + channel] : b.data<float>()[row * cb + channel - ca];
  }
  return y;
}

Tensor add(const Tensor& a, const Tensor& b) {
  Tensor y = a.clone();
  for (int64_t i = 0; i < y.num_elements(); ++i) y.mutable_data<float>()[i] += b.data<float>()[i];
  return y;
}

Tensor silu(const Tensor& x) { return map(x, silu_of); }

Tensor scale(const Tensor& x, float factor) {
  return map(x, [&](double v) { return v * static_cast<double>(factor); });
}

Tensor to_nhwc(const Tensor& nchw, float factor) {
  const int64_t n = nchw.dim(0), c = nchw.dim(1), pixels = nchw.dim(2) * nchw.dim(3);
  Tensor y = Tensor::empty({n, nchw.dim(2), nchw.dim(3), c}, DType::f32);
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    y.mutable_data<float>()[i] = factor * nchw.data<float>()[(i / c / pixels * c + i % c) * pixels + i / c % pixels];
  }
  return y;
}

Tensor to_nchw(const Tensor& nhwc, float factor) {
  const int64_t n = nhwc.dim(0), c = nhwc.dim(3), pixels = nhwc.dim(1) * nhwc.dim(2);
  Tensor y = Tensor::empty({n, c, nhwc.dim(1), nhwc.dim(2)}, DType::f32);
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    y.mutable_data<float>()[i] = factor * nhwc.data<float>()[(i / pixels / c * pixels + i % pixels) * c + i / pixels % c];
  }
  return y;
}

Tensor timestep_embedding(std::span<const float> timesteps, int dim, float max_period) {
  const int half = dim / 2;
  Tensor y = Tensor::zeros({static_cast<int64_t>(timesteps.size()), dim}, DType::f32);
  for (size_t t = 0; t < timesteps.size(); ++t) {
    float* row = y.mutable_data<float>() + t * static_cast<size_t>(dim);
    for (int i = 0; i < half; ++i) {
      const double angle = static_cast<double>(timesteps[t]) * std::exp(-std::log(static_cast<double>(max_period)) * i / half);
      row[i] = static_cast<float>(std::cos(angle));
      row[half + i] = static_cast<float>(std::sin(angle));
    }
  }
  return y;
}

}  // namespace veneer::compute::reference

#include "models/vae/vae.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/parallel.h"
#include "base/profile.h"
#include "compute/ops.h"
#include "veneer/error.h"

namespace veneer::models {
namespace {

constexpr float kEps = 1e-6F;
constexpr size_t kGrain = 1 << 14;

// One half of the autoencoder at work on one element.
class Half {
 public:
  Half(variant::ModelView& view, compute::Context& context, const VaeCallExtras& extras, std::string name)
      : view_(view), context_(context), extras_(extras), name_(std::move(name)) {}

  Tensor encode(const VaeHalfIds& ids, Tensor h) {
    h = conv(ids.conv_in, h, "conv_in");
    for (size_t i = 0; i < ids.levels.size(); ++i) {
      for (const VaeResBlockIds& block : ids.levels[i].blocks) h = res_block(block, std::move(h));
      if (ids.levels[i].resample) h = conv(*ids.levels[i].resample, h, "down." + std::to_string(i) + ".downsample");
    }
    h = middle(ids.middle, std::move(h));
    return head(ids, std::move(h));
  }

  Tensor decode(const VaeHalfIds& ids, Tensor h) {
    h = conv(ids.conv_in, h, "conv_in");
    h = middle(ids.middle, std::move(h));
    for (size_t i = ids.levels.size(); i-- > 0;) {
      for (const VaeResBlockIds& block : ids.levels[i].blocks) h = res_block(block, std::move(h));
      if (!ids.levels[i].resample) continue;
      const int64_t height = 2 * h.dim(1), width = 2 * h.dim(2);
      h = conv(*ids.levels[i].resample, {std::move(h), height, width}, "up." + std::to_string(i) + ".upsample");
    }
    return head(ids, std::move(h));
  }

 private:
  Tensor conv(variant::ModuleId id, const compute::ConvInput& x, const std::string& name) {
    Tensor out = view_.conv2d(context_, id, x);
    done(name, out);
    return out;
  }

  Tensor head(const VaeHalfIds& ids, Tensor h) {
    h = norm(ids.norm_out, h, true);
    return view_.conv2d(context_, ids.conv_out, h);
  }

  Tensor norm(variant::ModuleId id, const Tensor& x, bool silu) {
    const variant::NormWeights weights = view_.norm(id);
    return compute::group_norm(context_, x, weights.weight, weights.bias, kVaeNormGroups, kEps, silu);
  }

  // Takes x over, so that its bytes are free as soon as the shortcut has read them.
  Tensor res_block(const VaeResBlockIds& ids, Tensor x) {
    if (extras_.checkpoint) extras_.checkpoint();
    Tensor h = norm(ids.norm1, x, true);
    h = view_.conv2d(context_, ids.conv1, h);
    if (ids.shortcut) x = view_.conv2d(context_, *ids.shortcut, x);
    h = norm(ids.norm2, h, true);
    return view_.conv2d(context_, ids.conv2, h, {.residual = &x});
  }

  Tensor project(variant::ModuleId id, const Tensor& x, const compute::Epilogue& epilogue = {}) {
    const bool linear = view_.base().modules()[id].kind == variant::ModuleKind::linear;
    return linear ? view_.linear(context_, id, x, epilogue) : view_.conv2d(context_, id, x, epilogue);
  }

  Tensor attention(const VaeMiddleIds& ids, const Tensor& x) {
    const Shape tokens({x.dim(0), x.dim(1) * x.dim(2), x.dim(3)});
    Tensor n = norm(ids.norm, x, false);
    const Tensor q = project(ids.q, n).reshape(tokens);
    const Tensor k = project(ids.k, n).reshape(tokens);
    const Tensor v = project(ids.v, n).reshape(tokens);
    n = compute::attention(context_, {q}, {k}, {v}, {.heads = 1, .head_dim = static_cast<int>(x.dim(3))}).reshape(x.shape());
    return project(ids.proj_out, n, {.residual = &x});
  }

  Tensor middle(const VaeMiddleIds& ids, Tensor h) {
    h = res_block(ids.block_1, std::move(h));
    done("mid.block_1", h);
    h = attention(ids, h);
    done("mid.attn_1", h);
    h = res_block(ids.block_2, std::move(h));
    done("mid.block_2", h);
    return h;
  }

  void done(const std::string& name, const Tensor& h) const {
    if (extras_.observe) extras_.observe(name_ + name, h);
  }

  variant::ModelView& view_;
  compute::Context& context_;
  const VaeCallExtras& extras_;
  std::string name_;
};

// Runs `element` on each row of a batch and joins the results.
template <typename Element>
Tensor for_each_element(const Tensor& batch, Element&& element) {
  if (batch.dim(0) == 1) return element(batch);
  Tensor out;
  for (int64_t b = 0; b < batch.dim(0); ++b) {
    const Tensor one = element(batch.slice(b, 1));
    if (b == 0) out = Tensor::empty(one.shape().with(0, batch.dim(0)), one.dtype());
    std::memcpy(out.mutable_bytes() + static_cast<size_t>(b) * one.size_bytes(), one.bytes(), one.size_bytes());
  }
  return out;
}

std::string describe(const Tensor& tensor) {
  return tensor.defined() ? std::string(to_string(tensor.dtype())) + " " + tensor.shape().to_string() : "nothing";
}

void check_view(const variant::ModelView& view, const Architecture& architecture) {
  if (view.base().modules().size() == architecture.table.modules().size()) return;
  throw Error(ErrorCode::internal, "vae: the view is of another model", {{"model", view.base().source_name()}});
}

// Channels [0, 3) of pixels in 0..1 to -1..1.
Tensor centred(const Tensor& image) {
  Tensor out = Tensor::empty(image.shape().with(3, 3), DType::f32);
  const auto stride = static_cast<size_t>(image.dim(3));
  const float* from = image.data<float>();
  float* to = out.mutable_data<float>();
  parallel_for(static_cast<size_t>(out.num_elements()) / 3, kGrain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      for (size_t c = 0; c < 3; ++c) to[i * 3 + c] = from[i * stride + c] * 2.0F - 1.0F;
    }
  });
  return out;
}

}  // namespace

void Vae::check_image(const Tensor& image) const {
  const bool fits =
      image.defined() && image.dtype() == DType::f32 && image.rank() == 4 && image.dim(0) > 0 && (image.dim(3) == 3 || image.dim(3) == 4);
  if (!fits) throw Error(ErrorCode::invalid, "vae: an image is [B, H, W, 3] of f32", {{"got", describe(image)}});
  if (image.dim(1) < config_.downscale() || image.dim(2) < config_.downscale()) {
    throw Error(ErrorCode::invalid, "vae: an image is smaller than one latent",
                {{"want", std::to_string(config_.downscale())}, {"got", describe(image)}});
  }
}

void Vae::check_latent(const Tensor& latent) const {
  const bool fits =
      latent.defined() && latent.dtype() == DType::f32 && latent.rank() == 4 && latent.num_elements() > 0 && latent.dim(1) == config_.latent_channels;
  if (!fits) {
    throw Error(ErrorCode::invalid, "vae: a latent does not fit the autoencoder",
                {{"want", "f32 [B, " + std::to_string(config_.latent_channels) + ", h, w]"}, {"got", describe(latent)}});
  }
}

Tensor Vae::encode_element(variant::ModelView& view, compute::Context& context, const Tensor& image, const VaeCallExtras& extras) const {
  check_image(image);
  check_view(view, structure_.architecture);
  const ProfileSpan span(context.profile, ProfileKind::network, "vae encoder", [&] {
    return ProfileWork{image.shape().to_string(), to_string(context.dtype), 0, 0};
  });
  Tensor h = Half(view, context, extras, "encoder.").encode(structure_.encoder, compute::to_compute(context, centred(image)));
  if (structure_.quant) h = view.conv2d(context, *structure_.quant, h);
  return compute::to_f32(context, h);
}

Tensor Vae::decode_element(variant::ModelView& view, compute::Context& context, const Tensor& latent, const VaeCallExtras& extras) const {
  check_latent(latent);
  check_view(view, structure_.architecture);
  const ProfileSpan span(context.profile, ProfileKind::network, "vae decoder", [&] {
    return ProfileWork{latent.shape().to_string(), to_string(context.dtype), 0, 0};
  });
  Tensor h = compute::to_nhwc(context, latent);
  if (structure_.post_quant) h = view.conv2d(context, *structure_.post_quant, h);
  return compute::to_f32(context, Half(view, context, extras, "decoder.").decode(structure_.decoder, std::move(h)));
}

Tensor Vae::encode_moments(variant::ModelView& view, compute::Context& context, const Tensor& image, const VaeCallExtras& extras) const {
  check_image(image);
  return for_each_element(image, [&](const Tensor& one) {
    const Tensor cut = crop_to_multiple(one, config_.downscale());
    compute::Context f32 = context;
    f32.dtype = DType::f32;
    return compute::to_nchw_f32(f32, encode_element(view, context, cut, extras));
  });
}

Tensor Vae::encode(variant::ModelView& view, compute::Context& context, const Tensor& image, const VaeCallExtras& extras) const {
  return posterior_of(encode_moments(view, context, image, extras)).mean;
}

Tensor Vae::decode_raw(variant::ModelView& view, compute::Context& context, const Tensor& latent, const VaeCallExtras& extras) const {
  check_latent(latent);
  return for_each_element(latent, [&](const Tensor& one) { return decode_element(view, context, one, extras); });
}

Tensor Vae::decode(variant::ModelView& view, compute::Context& context, const Tensor& latent, const VaeCallExtras& extras) const {
  return image_from_raw(decode_raw(view, context, latent, extras));
}

Posterior posterior_of(const Tensor& moments) {
  if (!moments.defined() || moments.dtype() != DType::f32 || moments.rank() != 4 || moments.dim(1) % 2 != 0) {
    throw Error(ErrorCode::invalid, "vae: moments are [B, 2 C, h, w] of f32", {{"got", describe(moments)}});
  }
  const Shape shape = moments.shape().with(1, moments.dim(1) / 2);
  Posterior out{Tensor::empty(shape, DType::f32), Tensor::empty(shape, DType::f32)};
  const auto half = static_cast<size_t>(shape.num_elements_from(1));
  for (size_t b = 0; b < static_cast<size_t>(moments.dim(0)); ++b) {
    const float* mean = moments.data<float>() + 2 * b * half;
    std::copy(mean, mean + half, out.mean.mutable_data<float>() + b * half);
    float* std = out.std.mutable_data<float>() + b * half;
    for (size_t i = 0; i < half; ++i) std[i] = std::exp(0.5F * std::clamp(mean[half + i], -30.0F, 20.0F));
  }
  return out;
}

Tensor sample_posterior(const Posterior& posterior, const Tensor& noise) {
  if (noise.dtype() != DType::f32 || noise.shape() != posterior.mean.shape()) {
    throw Error(ErrorCode::invalid, "vae: noise does not fit the posterior",
                {{"want", posterior.mean.shape().to_string()}, {"got", describe(noise)}});
  }
  Tensor out = Tensor::empty(noise.shape(), DType::f32);
  for (size_t i = 0; i < out.mutable_floats().size(); ++i) {
    out.mutable_data<float>()[i] = posterior.mean.floats()[i] + posterior.std.floats()[i] * noise.floats()[i];
  }
  return out;
}

Tensor crop_to_multiple(const Tensor& image, int64_t multiple) {
  const int64_t height = image.dim(1) / multiple * multiple;
  const int64_t width = image.dim(2) / multiple * multiple;
  if (height == image.dim(1) && width == image.dim(2)) return image;
  const int64_t top = image.dim(1) % multiple / 2;
  const int64_t left = image.dim(2) % multiple / 2;
  const size_t pixel = static_cast<size_t>(image.dim(3)) * size_of(image.dtype());
  Tensor out = Tensor::empty(Shape({image.dim(0), height, width, image.dim(3)}), image.dtype());
  for (int64_t b = 0; b < image.dim(0); ++b) {
    for (int64_t y = 0; y < height; ++y) {
      const int64_t from = (b * image.dim(1) + y + top) * image.dim(2) + left;
      const int64_t to = (b * height + y) * width;
      std::memcpy(out.mutable_bytes() + static_cast<size_t>(to) * pixel, image.bytes() + static_cast<size_t>(from) * pixel,
                  static_cast<size_t>(width) * pixel);
    }
  }
  return out;
}

Tensor image_from_raw(Tensor raw) {
  Tensor out = raw.writable() ? std::move(raw) : raw.clone();
  float* values = out.mutable_data<float>();
  parallel_for(static_cast<size_t>(out.num_elements()), kGrain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) values[i] = std::clamp((values[i] + 1.0F) / 2.0F, 0.0F, 1.0F);
  });
  return out;
}

}  // namespace veneer::models

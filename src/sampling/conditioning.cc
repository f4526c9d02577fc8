#include "sampling/conditioning.h"

#include <algorithm>
#include <string>

#include "sampling/mask_ops.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

void add(FingerprintBuilder& builder, const Tensor& tensor) {
  builder.add(tensor.defined());
  if (!tensor.defined()) return;
  builder.add(tensor.dtype()).add(tensor.shape().to_string()).add_bytes(tensor.byte_span());
}

template <typename F>
Conditioning changed(const Conditioning& conditioning, F change) {
  Conditioning out = conditioning;
  for (ConditioningEntry& entry : out) change(entry);
  return out;
}

const ConditioningEntry& first_of(const Conditioning& conditioning) {
  if (conditioning.empty()) throw Error(ErrorCode::invalid, "conditioning: the list to mix in is empty");
  return conditioning.front();
}

// `from` with the rows and the width that belong to `to`.
Tensor matching_context(const Tensor& to, const Tensor& from) {
  const Tensor b = require_f32(from, 3, "conditioning");
  if (to.dim(2) != b.dim(2) || (b.dim(0) != 1 && b.dim(0) != to.dim(0))) {
    throw Error(ErrorCode::invalid, "conditioning: contexts do not fit together", {{"to", to.shape().to_string()}, {"from", b.shape().to_string()}});
  }
  return repeat_to_batch(b, to.dim(0));
}

// [n, tokens, width] of `from`, cut or filled with zeros to `tokens`.
Tensor with_tokens(const Tensor& from, int64_t tokens) {
  Tensor out = Tensor::zeros(from.shape().with(1, tokens), DType::f32);
  const int64_t copied = std::min(tokens, from.dim(1)) * from.dim(2);
  for (int64_t n = 0; n < from.dim(0); ++n) {
    std::copy_n(from.data<float>() + n * from.dim(1) * from.dim(2), copied, out.mutable_data<float>() + n * tokens * from.dim(2));
  }
  return out;
}

Tensor mixed(const Tensor& a, const Tensor& b, double strength) {
  if (a.shape() != b.shape()) {
    throw Error(ErrorCode::invalid, "conditioning: pooled vectors do not fit together",
                {{"to", a.shape().to_string()}, {"from", b.shape().to_string()}});
  }
  const float weight_a = static_cast<float>(strength);
  const float weight_b = static_cast<float>(1.0 - strength);
  Tensor out = Tensor::empty(a.shape(), DType::f32);
  std::ranges::transform(a.floats(), b.floats(), out.mutable_data<float>(), [=](float x, float y) { return x * weight_a + y * weight_b; });
  return out;
}

}  // namespace

Fingerprint fingerprint(const Conditioning& conditioning) {
  FingerprintBuilder builder;
  builder.add("conditioning").add(conditioning.size());
  for (const ConditioningEntry& entry : conditioning) {
    add(builder, entry.context);
    add(builder, entry.pooled);
    builder.add(entry.area ? entry.area->index() + 1 : 0);
    if (entry.area) {
      std::visit([&](const auto& box) { builder.add(box.y).add(box.x).add(box.height).add(box.width); }, *entry.area);
    }
    builder.add(entry.strength).add(entry.mask_strength).add(entry.set_area_to_bounds).add(entry.start_percent).add(entry.end_percent);
    add(builder, entry.mask);
    builder.add(entry.clip_start_percent).add(entry.clip_end_percent).add(entry.is_default);
    builder.add(entry.hooks ? entry.hooks->fingerprint() : Fingerprint{});
    builder.add(entry.control ? entry.control->fingerprint() : Fingerprint{}).add(entry.control_apply_to_uncond);
    add(builder, entry.extra_channels);
  }
  return builder.finish();
}

Conditioning combine(const Conditioning& first, const Conditioning& second) {
  // Each entry is an evaluation of the network at every step; a list that doubles from node to node would otherwise end the process.
  constexpr size_t kMostEntries = 4096;
  if (first.size() + second.size() > kMostEntries) {
    throw Error(ErrorCode::invalid, "conditioning: too many entries",
                {{"got", std::to_string(first.size() + second.size())}, {"most", std::to_string(kMostEntries)}});
  }
  Conditioning out = first;
  out.insert(out.end(), second.begin(), second.end());
  return out;
}

Conditioning average(const Conditioning& to, const Conditioning& from, double strength) {
  const ConditioningEntry& source = first_of(from);
  return changed(to, [&](ConditioningEntry& entry) {
    const Tensor context = require_f32(entry.context, 3, "conditioning");
    entry.context = mixed(context, with_tokens(matching_context(context, source.context), context.dim(1)), strength);
    if (!source.pooled.defined()) return;
    const Tensor pooled_from = require_f32(source.pooled, 2, "conditioning");
    entry.pooled = mixed(entry.pooled.defined() ? require_f32(entry.pooled, 2, "conditioning") : pooled_from, pooled_from, strength);
  });
}

Conditioning concat(const Conditioning& to, const Conditioning& from) {
  const ConditioningEntry& source = first_of(from);
  return changed(to, [&](ConditioningEntry& entry) {
    const Tensor a = require_f32(entry.context, 3, "conditioning");
    const Tensor b = matching_context(a, source.context);
    Tensor out = Tensor::empty(a.shape().with(1, a.dim(1) + b.dim(1)), DType::f32);
    float* target = out.mutable_data<float>();
    for (int64_t n = 0; n < a.dim(0); ++n) {
      target = std::copy_n(a.data<float>() + n * a.dim(1) * a.dim(2), a.dim(1) * a.dim(2), target);
      target = std::copy_n(b.data<float>() + n * b.dim(1) * b.dim(2), b.dim(1) * b.dim(2), target);
    }
    entry.context = std::move(out);
  });
}

Conditioning zero_out(const Conditioning& conditioning) {
  return changed(conditioning, [](ConditioningEntry& entry) {
    entry.context = Tensor::zeros(entry.context.shape(), DType::f32);
    if (entry.pooled.defined()) entry.pooled = Tensor::zeros(entry.pooled.shape(), DType::f32);
  });
}

Conditioning set_area(const Conditioning& conditioning, const Box& area, double strength) {
  return changed(conditioning, [&](ConditioningEntry& entry) {
    entry.area = area;
    entry.strength = strength;
    entry.set_area_to_bounds = false;
  });
}

Conditioning set_area_percentage(const Conditioning& conditioning, const FractionalBox& area, double strength) {
  return changed(conditioning, [&](ConditioningEntry& entry) {
    entry.area = area;
    entry.strength = strength;
    entry.set_area_to_bounds = false;
  });
}

Conditioning set_area_strength(const Conditioning& conditioning, double strength) {
  return changed(conditioning, [&](ConditioningEntry& entry) { entry.strength = strength; });
}

Conditioning set_mask(const Conditioning& conditioning, const Tensor& mask, double strength, bool set_area_to_bounds) {
  const Tensor flat = mask_as_batch(mask);
  return changed(conditioning, [&](ConditioningEntry& entry) {
    entry.mask = flat;
    entry.mask_strength = strength;
    entry.set_area_to_bounds = set_area_to_bounds;
  });
}

Conditioning set_timestep_range(const Conditioning& conditioning, double start_percent, double end_percent) {
  return changed(conditioning, [&](ConditioningEntry& entry) {
    entry.start_percent = start_percent;
    entry.end_percent = end_percent;
  });
}

Conditioning set_default(const Conditioning& conditioning) {
  return changed(conditioning, [](ConditioningEntry& entry) { entry.is_default = true; });
}

}  // namespace veneer::sampling

// What a picture is to show: encoded prompts, each with the place, the time and the weight it holds for. Values; functions return changed copies.
#pragma once

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "base/fingerprint.h"
#include "sampling/nchw.h"
#include "tensor/tensor.h"

namespace veneer::sampling {

// Something that steers the network while a prompt is evaluated (a ControlNet with its hint). Sampling only passes it on to the Network that knows
// it.
class Control {
 public:
  virtual ~Control() = default;
  // Equal for two controls exactly when they steer alike.
  virtual Fingerprint fingerprint() const = 0;
};

// Changes of the network that hold while a prompt is evaluated (patches on weights with strengths by time). Sampling only passes them on.
class CondHooks {
 public:
  virtual ~CondHooks() = default;
  // Equal for two objects exactly when they change the network alike.
  virtual Fingerprint fingerprint() const = 0;
};

// A part of the picture, as fractions of its height and width.
struct FractionalBox {
  double y = 0, x = 0, height = 1, width = 1;
};

struct ConditioningEntry {
  Tensor context;                                             // [n, tokens, width]; rows are repeated over the batch
  Tensor pooled = {};                                         // [n, P], or undefined
  std::optional<std::variant<Box, FractionalBox>> area = {};  // a Box is in latent elements; unset: everywhere
  double strength = 1.0;                                      // weight against the other entries of its list
  Tensor mask = {};                                           // [M, H, W] weights, or undefined
  double mask_strength = 1.0;                                 // the mask's factor
  bool set_area_to_bounds = false;                            // the area is the box around the mask
  double start_percent = 0.0;                                 // of the run; the entry holds from here
  double end_percent = 1.0;                                   // to there
  double clip_start_percent = 0.0;                            // the part of the run that the text was encoded for: it holds
  double clip_end_percent = 1.0;                              // in both ranges only
  std::shared_ptr<const CondHooks> hooks = {};                // or null
  bool is_default = false;                                    // holds where the other entries of its list leave weight
  std::shared_ptr<const Control> control = {};                // or null
  bool control_apply_to_uncond = false;                       // the other list's entries without a control get this one too
  Tensor extra_channels = {};  // [n, K, h, w] that the network's input gets behind its own (inpainting models), or undefined
};

// Entries hold at the same time; where they overlap, their predictions are averaged by weight.
using Conditioning = std::vector<ConditioningEntry>;

// Everything that can change a prediction, contents of tensors included.
Fingerprint fingerprint(const Conditioning& conditioning);

Conditioning combine(const Conditioning& first, const Conditioning& second);
// Each entry of `to` mixed with the first entry of `from`: to * strength + from * (1 - strength), tokens of `from` cut or filled with zeros to fit.
// Throws Error(invalid) if `from` is empty or the widths differ.
Conditioning average(const Conditioning& to, const Conditioning& from, double strength);
// The tokens of the first entry of `from` behind those of each entry of `to`. Throws Error(invalid) as `average`.
Conditioning concat(const Conditioning& to, const Conditioning& from);
// With zeros as context and pooled vector.
Conditioning zero_out(const Conditioning& conditioning);
Conditioning set_area(const Conditioning& conditioning, const Box& area, double strength);
Conditioning set_area_percentage(const Conditioning& conditioning, const FractionalBox& area, double strength);
Conditioning set_area_strength(const Conditioning& conditioning, double strength);
// mask: [..., H, W] of any size.
Conditioning set_mask(const Conditioning& conditioning, const Tensor& mask, double strength, bool set_area_to_bounds);
Conditioning set_timestep_range(const Conditioning& conditioning, double start_percent, double end_percent);
// Entries that fill what the other entries of a list leave: their weight at a place is 1 minus the sum of the others', at least 0.
Conditioning set_default(const Conditioning& conditioning);

}  // namespace veneer::sampling

// The network as sampling sees it: a function over one batch.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "sampling/conditioning.h"
#include "tensor/tensor.h"

namespace veneer::sampling {

struct RunState;

// Changes of the network for one evaluation. Made by hooks that know the network; sampling only passes them on to the Network.
class NetworkOverlay {
 public:
  virtual ~NetworkOverlay() = default;
};

// A batch of B rows: one chunk of B / cond_or_uncond.size() rows for each prompt that is evaluated, each with the same latents or crops of them.
struct DenoiseBatch {
  Tensor x;                          // [B, C, h, w] f32, at noise level `sigmas`
  std::vector<float> sigmas;         // B, all the same
  Tensor context;                    // [B, tokens, width] f32
  Tensor pooled;                     // [B, P] f32, or undefined
  Tensor extra_channels;             // [B, K, h, w] f32, or undefined
  std::vector<int> cond_or_uncond;   // per chunk: 0 positive, 1 negative
  const Control* control = nullptr;  // for all rows; valid for the call
  const CondHooks* hooks = nullptr;  // likewise
};

// What the network gets: x is already scaled for it.
struct NetworkInput : DenoiseBatch {
  std::vector<float> timesteps;             // B
  std::span<const float> run_sigmas;        // the noise levels that the run visits; empty when they are not known. Valid for the call
  const NetworkOverlay* overlay = nullptr;  // null: the network as it is. Valid for the call, as is the next
  RunState* run = nullptr;                  // null: outside of a run
};

// Returns the network's raw output, [B, C, h, w] f32.
using Network = std::function<Tensor(const NetworkInput&)>;

}  // namespace veneer::sampling

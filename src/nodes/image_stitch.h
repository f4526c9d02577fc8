// Two pictures side by side or one above the other.
#pragma once

#include <cstdint>
#include <string>

#include "tensor/tensor.h"

namespace veneer::nodes {

struct StitchOptions {
  std::string direction = "right";      // where the second goes: "right", "down", "left", "up"
  bool match_size = true;               // scale the second to the first's height (or width) instead of padding the smaller
  int64_t spacing = 0;                  // pixels between them; odd numbers are raised to the next even one
  std::string spacing_color = "white";  // "white", "black", "red", "green", "blue"
};

// first, second: [N, H, W, C] f32. A shorter batch repeats its last picture. The smaller one is padded evenly with black.
Tensor stitch_images(const Tensor& first, const Tensor& second, const StitchOptions& options);

}  // namespace veneer::nodes

// Kohya's Deep Shrink: while the picture's layout is made, the network works on smaller activations from one block on, so that sizes it was not
// trained on do not repeat their subjects.
#pragma once

#include <cstdint>

#include "sampling/model_sampling.h"
#include "sampling/resample.h"
#include "variant/model_options.h"

namespace veneer::nodes {

struct DownscaleSettings {
  int64_t block_number = 3;  // the input block after which activations shrink
  double factor = 2;         // to round(extent / factor)
  double start_percent = 0, end_percent = 0.35;
  sampling::ResampleMethod shrink = sampling::ResampleMethod::bicubic;
  sampling::ResampleMethod grow = sampling::ResampleMethod::bicubic;  // output blocks grow to what their skip has
};

// Shrinks in input block `block_number`. For input_block_patch, or input_block_patch_after_skip: then the skip keeps its size.
variant::Identified<Tensor(const Tensor&, const variant::PatchCall&)> shrink_input_block(const DownscaleSettings& settings,
                                                                                         const sampling::ModelSampling& model_sampling);
// Gives the features the size of the skip wherever they differ.
variant::Identified<variant::BlockAndSkip(const variant::BlockAndSkip&, const variant::PatchCall&)> grow_to_skip(sampling::ResampleMethod method);

}  // namespace veneer::nodes

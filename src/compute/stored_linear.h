// A linear layer whose weight stays where it is: nothing is packed ahead, so that a first use costs what every use costs.
#pragma once

#include <memory>

#include "compute/weights.h"

namespace veneer::compute {

// weight: [out, in] in any floating dtype, shared with the caller; each forward converts it into scratch memory and multiplies with it as it lies.
// For small weights beside large ones, as an adapter's factors are: there the conversion is a tenth of the product and less. Where this machine has
// no fast kernel for that, it packs as Linear::create does. compute_dtype: f32 or bf16. Throws Error(invalid) for a weight that is no matrix.
std::shared_ptr<const Linear> make_stored_linear(const Tensor& weight, DType compute_dtype);

}  // namespace veneer::compute

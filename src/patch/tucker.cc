#include "patch/tucker.h"

#include "patch/layer_tensors.h"
#include "patch/swap_dims.h"

namespace veneer::patch {

Tensor tucker(const WorkingWeight& weight, const Tensor& core, const Tensor& a, const Tensor& b) {
  const int64_t i = core.dim(0), j = core.dim(1), inner = core.shape().num_elements_from(2), in = b.dim(1);
  const Tensor by_j = swap_dims(core, 1, i, j, inner);        // [j, i * k]
  const Tensor partial = weight.product(transpose(b), by_j);  // [in, i * k]
  return weight.product(transpose(a), swap_dims(partial, 1, in, i, inner));
}

void check_tucker(const Tensor& core, const Tensor& a, const Tensor& b, std::string_view kind) {
  check_factors(core.rank() >= 3 && a.rank() == 2 && core.dim(0) == a.dim(0), kind, core, a);
  check_factors(b.rank() == 2 && core.dim(1) == b.dim(0), kind, core, b);
}

}  // namespace veneer::patch

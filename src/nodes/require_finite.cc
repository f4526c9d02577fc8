#include "nodes/require_finite.h"

#include <cmath>
#include <string>

#include "veneer/error.h"

namespace veneer::nodes {

Tensor require_finite(Tensor tensor, std::string_view what) {
  for (const float value : tensor.floats()) {
    if (std::isfinite(value)) continue;
    throw Error(
        ErrorCode::invalid, "the result holds infinite or undefined numbers",
        {{"result", std::string(what)}, {"usual causes", "a damaged weight in a model or adapter file, an adapter's strength, a prompt's weight"}});
  }
  return tensor;
}

}  // namespace veneer::nodes

// torch's names of dtypes.
#pragma once

#include <optional>
#include <string_view>

#include "tensor/dtype.h"

namespace veneer::formats {

// "torch.float16" or "float16"; nullopt for what Veneer has no dtype for.
std::optional<DType> torch_dtype(std::string_view global);

}  // namespace veneer::formats

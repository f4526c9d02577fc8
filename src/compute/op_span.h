// What ops tell a profile of themselves. Included by .cc files of this room alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/profile.h"
#include "compute/context.h"
#include "tensor/tensor.h"

namespace veneer::compute {

// describe: () -> ProfileWork; called only when there is a profile.
template <typename Describe>
ProfileSpan op_span(const Context& context, std::string_view name, const Describe& describe) {
  return ProfileSpan(context.profile, ProfileKind::op, name, describe);
}

// Of an op without matrix work that moves `copies` times the bytes of x in all.
inline ProfileSpan moving_span(const Context& context, std::string_view name, const Tensor& x, double copies) {
  return op_span(context, name, [&] {
    return ProfileWork{x.shape().to_string(), to_string(context.dtype), 0, copies * static_cast<double>(x.size_bytes())};
  });
}

// Nanoseconds.
inline constexpr int64_t kShortestPreparation = 50'000;

// Around making an operation and packing its weights. A look-up is not worth a span.
template <typename Describe>
ProfileSpan prepare_span(const Context& context, const Describe& describe) {
  return ProfileSpan(context.profile, ProfileKind::prepare, "pack", describe, kShortestPreparation);
}

}  // namespace veneer::compute

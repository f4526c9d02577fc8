#include "nodes/require_finite.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "variant/suspect_weights.h"
#include "variant/variant_view.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

Error plain_error(std::string_view what) {
  return {ErrorCode::invalid,
          "the result holds infinite or undefined numbers",
          {{"result", std::string(what)}, {"usual causes", "a damaged weight in a model or adapter file, an adapter's strength, a prompt's weight"}}};
}

}  // namespace

bool all_finite(const Tensor& tensor) {
  return std::ranges::all_of(tensor.floats(), [](float value) { return std::isfinite(value); });
}

Error not_finite(std::string_view what, const variant::ModelView& view) {
  Error error = plain_error(what);
  const auto* of_variant = dynamic_cast<const variant::VariantView*>(&view);
  if (of_variant == nullptr) return error;
  try {
    for (const auto& [name, value] : variant::suspects(of_variant->variant().description())) error = error.with(name, value);
  } catch (const Error&) {
    // The search may fail where the network did not, for want of memory: what it should explain is said all the same.
  }
  return error;
}

Tensor require_finite(Tensor tensor, std::string_view what) {
  if (!all_finite(tensor)) throw plain_error(what);
  return tensor;
}

Tensor require_finite(Tensor tensor, std::string_view what, const variant::ModelView& view) {
  if (!all_finite(tensor)) throw not_finite(what, view);
  return tensor;
}

Error with_reshaped_weight(const Error& error, const variant::ModelView& view) {
  const auto* of_variant = dynamic_cast<const variant::VariantView*>(&view);
  return of_variant == nullptr ? error : variant::with_reshaped_weight(error, of_variant->variant().description());
}

}  // namespace veneer::nodes

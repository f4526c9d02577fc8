#include "engine/describe_variant.h"

#include "engine/open_variant.h"
#include "engine/variant_report.h"
#include "patch/blame.h"

namespace veneer::engine {

VariantReport describe_variant(const Core& core, const VariantRequest& request, bool read_adapters) {
  const OpenVariant variant = open_variant(core.models(), request);
  if (read_adapters) {
    for (const OpenAdapter& adapter : variant.adapters) {
      for (const auto& [key, value] : adapter.report.patches) patch::require_finite_tensors(*value);
    }
  }
  return report_of(variant, request);
}

}  // namespace veneer::engine

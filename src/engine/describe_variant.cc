#include "engine/describe_variant.h"

#include "engine/open_variant.h"
#include "engine/variant_report.h"

namespace veneer::engine {

VariantReport describe_variant(const Core& core, const VariantRequest& request) { return report_of(open_variant(core.models(), request), request); }

}  // namespace veneer::engine

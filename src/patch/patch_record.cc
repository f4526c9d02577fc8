#include "patch/patch_record.h"

namespace veneer::patch {

void add_to_fingerprint(FingerprintBuilder& builder, const PatchRecord& record) {
  builder.add(record.strength_patch).add(record.strength_model);
  builder.add(record.value->fingerprint());
  builder.add(record.offset.has_value());
  if (record.offset) builder.add(record.offset->dim).add(record.offset->start).add(record.offset->length);
  builder.add(record.function.has_value());
  if (record.function) builder.add(record.function->id);
}

}  // namespace veneer::patch

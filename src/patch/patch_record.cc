#include "patch/patch_record.h"

#include <cmath>

#include "veneer/error.h"

namespace veneer::patch {

void check_record(const PatchRecord& record) {
  if (!std::isfinite(record.strength_patch) || !std::isfinite(record.strength_model)) {
    throw Error(ErrorCode::invalid, "patch: strength is not finite",
                {{"strength_patch", std::to_string(record.strength_patch)}, {"strength_model", std::to_string(record.strength_model)}});
  }
  if (!record.value) throw Error(ErrorCode::internal, "patch: record without a value");
}

void add_to_fingerprint(FingerprintBuilder& builder, const PatchRecord& record) {
  builder.add(record.strength_patch).add(record.strength_model);
  builder.add(record.value->fingerprint());
  builder.add(record.offset.has_value());
  if (record.offset) builder.add(record.offset->dim).add(record.offset->start).add(record.offset->length);
  builder.add(record.function.has_value());
  if (record.function) builder.add(record.function->id);
}

double weight_share(std::span<const PatchRecord> records) {
  double share = 1;
  for (const PatchRecord& record : records)
    share = share * record.strength_model + record.strength_patch * (record.value ? record.value->weight_share() : 0);
  return share;
}

}  // namespace veneer::patch

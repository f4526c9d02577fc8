#include "engine/variant_report.h"

#include <map>

#include "patch/patch_record.h"

namespace veneer::engine {
namespace {

VariantPart part_of(const char* name, const variant::ModelPatcher& patcher) {
  VariantPart part;
  part.part = name;
  part.architecture = patcher.model()->architecture();
  part.fingerprint = portable_fingerprint(patcher).hex();
  part.num_weights = patcher.model()->weights().size();
  for (const auto& [key, records] : patcher.patches()) part.patched_keys.push_back(key);
  return part;
}

AdapterMatch match_of(const patch::AdapterReport::Match& match) { return {match.layer, match.key, std::string(match.kind)}; }

AdapterSummary summary_of(const OpenAdapter& adapter) {
  const patch::AdapterReport& report = adapter.report;
  AdapterSummary out;
  out.name = adapter.name;
  out.file = adapter.file;
  out.strength = adapter.strength;
  out.architecture = report.architecture;
  std::map<std::string, size_t> kinds;
  for (const auto& match : report.matched) {
    out.matched.push_back(match_of(match));
    ++kinds[out.matched.back().kind];
  }
  out.kinds.assign(kinds.begin(), kinds.end());
  const auto copy = [](const std::vector<patch::AdapterReport::Mismatch>& from, std::vector<AdapterMismatch>& to) {
    for (const auto& mismatch : from) to.push_back({mismatch.layer, mismatch.key, mismatch.reason, mismatch.want, mismatch.got, mismatch.tensors});
  };
  copy(report.mismatched, out.mismatched);
  copy(report.left_out, out.skipped);
  for (const auto& match : report.overridden) out.overridden.push_back(match_of(match));
  out.missing_keys = report.missing_keys;
  out.unused_layers = report.unused_layers;
  out.unused_keys = report.unused_keys;
  return out;
}

}  // namespace

Fingerprint portable_fingerprint(const variant::ModelPatcher& patcher) {
  FingerprintBuilder builder;
  builder.add("portable variant").add(patcher.model()->architecture()).add(patcher.model()->content_fingerprint());
  builder.add(to_string(patcher.compute_dtype())).add(patcher.runtime().compat).add(patcher.patches().size());
  for (const auto& [key, records] : patcher.patches()) {
    builder.add(key).add(records->size());
    for (const patch::PatchRecord& record : *records) patch::add_to_fingerprint(builder, record);
  }
  return builder.finish();
}

VariantReport report_of(const OpenVariant& variant, const VariantRequest& request) {
  VariantReport out;
  out.model = request.model;
  out.file = variant.file;
  if (variant.parts.model) out.parts.push_back(part_of("unet", variant.parts.model->patcher));
  if (variant.parts.clip) out.parts.push_back(part_of("text_encoder", variant.parts.clip->patcher));
  for (const OpenAdapter& adapter : variant.adapters) out.adapters.push_back(summary_of(adapter));
  return out;
}

}  // namespace veneer::engine

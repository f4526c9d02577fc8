#include "nodes/apply_lora.h"

#include <utility>

#include "nodes/match_adapter.h"

namespace veneer::nodes {

LoraResult apply_lora(const ModelValue* model, const ClipValue* clip, const formats::ModelFile& file, const LoraStrengths& strengths) {
  AdapterTargets targets;
  if (model != nullptr) {
    targets.unet = model->patcher.model().get();
    targets.layout = unet_layout(model->network->config());
  }
  if (clip != nullptr) targets.clip = clip->patcher.model().get();
  targets.compat = model != nullptr ? model->patcher.runtime().compat : clip->patcher.runtime().compat;
  patch::AdapterReport report = match_adapter(file, targets);
  if (report.patches.empty()) {
    const variant::BaseModel& base = model != nullptr ? *model->patcher.model() : *clip->patcher.model();
    throw patch::no_match_error(file.name(), report, base.architecture());
  }

  LoraResult result;
  if (model != nullptr) {
    result.model = *model;
    result.model->patcher = model->patcher.clone();
    result.model->patcher.add_patches(report.patches, strengths.model);
  }
  if (clip != nullptr) {
    result.clip = *clip;
    result.clip->patcher = clip->patcher.clone();
    result.clip->patcher.add_patches(report.patches, strengths.clip);
  }
  result.remark = adapter_remark(report, file.name(), [&](std::string_view layer) { return clip != nullptr || !is_text_layer(layer); });
  result.report = std::move(report);
  return result;
}

}  // namespace veneer::nodes

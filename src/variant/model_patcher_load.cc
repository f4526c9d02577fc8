// ModelPatcher: views to run, and what stays loaded between runs.
#include "variant/model_patcher.h"
#include "variant/variant_view.h"

namespace veneer::variant {

std::unique_ptr<ModelView> ModelPatcher::open_view() const {
  std::shared_ptr<LoadedVariant> variant = slot_->loaded(fingerprint());
  if (!variant) variant = std::make_shared<LoadedVariant>(description_);
  return std::make_unique<VariantView>(std::move(variant));
}

std::unique_ptr<ModelView> ModelPatcher::patch_model(bool load_weights) {
  slot_->enter_objects(description_);
  try {
    inject_model();
    if (load_weights) load();
    return open_view();
  } catch (...) {
    eject_model();
    if (description_.runtime->compat == patch::PatchCompat::standard) slot_->unpatch(true);
    throw;
  }
}

void ModelPatcher::unpatch_model(bool unpatch_weights) {
  eject_model();
  slot_->unpatch(unpatch_weights);
}

void ModelPatcher::detach(bool unpatch_weights) {
  unpatch_model(unpatch_weights);
  run_callbacks(CallbackPoint::on_detach);
}

void ModelPatcher::load(const LoadRequest& request) {
  slot_->load(description_, patches_uuid_, request);
  run_callbacks(CallbackPoint::on_load);
}

size_t ModelPatcher::partially_load(size_t extra_memory, bool force_patch_weights) {
  try {
    const size_t loaded = slot_->partially_load(description_, patches_uuid_, extra_memory, force_patch_weights);
    run_callbacks(CallbackPoint::on_load);
    return loaded;
  } catch (...) {
    detach();
    throw;
  }
}

size_t ModelPatcher::partially_unload(size_t memory_to_free) { return slot_->partially_unload(memory_to_free); }

}  // namespace veneer::variant

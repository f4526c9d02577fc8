// ModelPatcher: model options, object patches and what extensions attach. Each change makes a copy of the extras that this patcher alone has.
#include <utility>

#include "variant/model_patcher.h"
#include "veneer/error.h"

namespace veneer::variant {

template <typename Change>
void ModelPatcher::change_extras(Change change) {
  auto copy = std::make_shared<VariantExtras>(*description_.extras);
  change(*copy);
  description_.extras = std::move(copy);
}

void ModelPatcher::set_model_options(ModelOptions options) {
  change_extras([&](VariantExtras& extras) { extras.options = std::move(options); });
}

void ModelPatcher::set_transformer_options(TransformerOptions options) {
  change_extras([&](VariantExtras& extras) { extras.options.transformer_options = std::move(options); });
}

void ModelPatcher::set_model_sampler_cfg_function(decltype(sampling::GuidanceOptions::cfg_function)::value_type function,
                                                  bool disable_cfg1_optimization) {
  change_extras([&](VariantExtras& extras) {
    extras.options.guidance.cfg_function = std::move(function);
    extras.options.guidance.disable_cfg1_optimization |= disable_cfg1_optimization;
  });
}

void ModelPatcher::set_model_sampler_pre_cfg_function(decltype(sampling::GuidanceOptions::pre_cfg)::value_type function,
                                                      bool disable_cfg1_optimization) {
  change_extras([&](VariantExtras& extras) {
    extras.options.guidance.pre_cfg.push_back(std::move(function));
    extras.options.guidance.disable_cfg1_optimization |= disable_cfg1_optimization;
  });
}

void ModelPatcher::set_model_sampler_post_cfg_function(decltype(sampling::GuidanceOptions::post_cfg)::value_type function,
                                                       bool disable_cfg1_optimization) {
  change_extras([&](VariantExtras& extras) {
    extras.options.guidance.post_cfg.push_back(std::move(function));
    extras.options.guidance.disable_cfg1_optimization |= disable_cfg1_optimization;
  });
}

void ModelPatcher::set_model_sampler_calc_cond_batch_function(decltype(sampling::GuidanceOptions::calc_cond_batch)::value_type function) {
  change_extras([&](VariantExtras& extras) { extras.options.guidance.calc_cond_batch = std::move(function); });
}

void ModelPatcher::set_model_unet_function_wrapper(decltype(sampling::GuidanceOptions::unet_wrapper)::value_type function) {
  change_extras([&](VariantExtras& extras) { extras.options.guidance.unet_wrapper = std::move(function); });
}

void ModelPatcher::set_model_denoise_mask_function(decltype(sampling::GuidanceOptions::denoise_mask_function)::value_type function) {
  change_extras([&](VariantExtras& extras) { extras.options.guidance.denoise_mask_function = std::move(function); });
}

void ModelPatcher::set_model_attn1_replace(const BlockPosition& position, decltype(TransformerOptions::attn1_replace)::mapped_type patch) {
  change_extras([&](VariantExtras& extras) { extras.options.transformer_options.attn1_replace.insert_or_assign(position, std::move(patch)); });
}

void ModelPatcher::set_model_attn2_replace(const BlockPosition& position, decltype(TransformerOptions::attn2_replace)::mapped_type patch) {
  change_extras([&](VariantExtras& extras) { extras.options.transformer_options.attn2_replace.insert_or_assign(position, std::move(patch)); });
}

void ModelPatcher::set_model_attn1_patch(decltype(TransformerOptions::attn1_patch)::value_type patch) {
  change_extras([&](VariantExtras& extras) { extras.options.transformer_options.attn1_patch.push_back(std::move(patch)); });
}

void ModelPatcher::set_model_attn2_patch(decltype(TransformerOptions::attn2_patch)::value_type patch) {
  change_extras([&](VariantExtras& extras) { extras.options.transformer_options.attn2_patch.push_back(std::move(patch)); });
}

void ModelPatcher::set_model_attn1_output_patch(decltype(TransformerOptions::attn1_output_patch)::value_type patch) {
  change_extras([&](VariantExtras& extras) { extras.options.transformer_options.attn1_output_patch.push_back(std::move(patch)); });
}

void ModelPatcher::set_model_attn2_output_patch(decltype(TransformerOptions::attn2_output_patch)::value_type patch) {
  change_extras([&](VariantExtras& extras) { extras.options.transformer_options.attn2_output_patch.push_back(std::move(patch)); });
}

void ModelPatcher::set_model_input_block_patch(decltype(TransformerOptions::input_block_patch)::value_type patch) {
  change_extras([&](VariantExtras& extras) { extras.options.transformer_options.input_block_patch.push_back(std::move(patch)); });
}

void ModelPatcher::set_model_input_block_patch_after_skip(decltype(TransformerOptions::input_block_patch_after_skip)::value_type patch) {
  change_extras([&](VariantExtras& extras) { extras.options.transformer_options.input_block_patch_after_skip.push_back(std::move(patch)); });
}

void ModelPatcher::set_model_output_block_patch(decltype(TransformerOptions::output_block_patch)::value_type patch) {
  change_extras([&](VariantExtras& extras) { extras.options.transformer_options.output_block_patch.push_back(std::move(patch)); });
}

void ModelPatcher::set_model_middle_patch(decltype(TransformerOptions::middle_patch)::value_type patch) {
  change_extras([&](VariantExtras& extras) { extras.options.transformer_options.middle_patch.push_back(std::move(patch)); });
}

void ModelPatcher::set_model_emb_patch(decltype(TransformerOptions::emb_patch)::value_type patch) {
  change_extras([&](VariantExtras& extras) { extras.options.transformer_options.emb_patch.push_back(std::move(patch)); });
}

void ModelPatcher::set_model_compute_dtype(DType dtype) {
  if (dtype != DType::f32 && dtype != DType::bf16) {
    throw Error(ErrorCode::invalid, "set_model_compute_dtype: networks do not compute in this dtype",
                {{"dtype", std::string(to_string(dtype))}, {"allowed", "f32 bf16"}});
  }
  description_.compute_dtype = dtype;
  add_object_patch("manual_cast_dtype",
                   ModelObject::of(FingerprintBuilder().add("manual_cast_dtype").add(dtype).finish(), std::make_shared<const DType>(dtype)));
  refresh_uuid();
}

void ModelPatcher::add_weight_wrapper(std::string_view key, WeightWrapper wrapper) {
  if (!description_.model->has_key(key)) {
    throw Error(ErrorCode::not_found, "model: no such weight", {{"file", description_.model->source_name()}, {"key", std::string(key)}});
  }
  change_extras([&](VariantExtras& extras) { extras.weight_wrappers[std::string(key)].push_back(std::move(wrapper)); });
  refresh_uuid();
}

void ModelPatcher::add_object_patch(const std::string& path, ModelObject object) {
  change_extras([&](VariantExtras& extras) { extras.object_patches.insert_or_assign(path, std::move(object)); });
}

ModelObject ModelPatcher::get_model_object(const std::string& path) const {
  const auto& patches = description_.extras->object_patches;
  if (const auto it = patches.find(path); it != patches.end()) return it->second;
  const auto it = description_.model->objects().find(path);
  if (it != description_.model->objects().end()) return it->second;
  throw Error(ErrorCode::not_found, "model: no such object", {{"file", description_.model->source_name()}, {"path", path}});
}

void ModelPatcher::add_callback(CallbackPoint point, const std::string& key, Callback callback) {
  change_extras([&](VariantExtras& extras) { extras.callbacks[point][key].push_back(std::move(callback)); });
}

void ModelPatcher::run_callbacks(CallbackPoint point, ModelPatcher* other) {
  const std::shared_ptr<const VariantExtras> extras = description_.extras;  // callbacks may add callbacks
  const auto it = extras->callbacks.find(point);
  if (it == extras->callbacks.end()) return;
  for (const auto& [key, callbacks] : it->second) {
    for (const Callback& callback : callbacks) callback(*this, other);
  }
}

void ModelPatcher::add_wrapper(const std::string& key, NetworkWrapper wrapper) {
  change_extras([&](VariantExtras& extras) { extras.wrappers[key].push_back(std::move(wrapper)); });
}

void ModelPatcher::remove_wrappers(const std::string& key) {
  change_extras([&](VariantExtras& extras) { extras.wrappers.erase(key); });
}

void ModelPatcher::set_attachment(const std::string& key, std::any object) {
  change_extras([&](VariantExtras& extras) { extras.attachments.insert_or_assign(key, std::move(object)); });
}

void ModelPatcher::remove_attachment(const std::string& key) {
  change_extras([&](VariantExtras& extras) { extras.attachments.erase(key); });
}

std::any ModelPatcher::get_attachment(const std::string& key) const {
  const auto it = description_.extras->attachments.find(key);
  return it == description_.extras->attachments.end() ? std::any() : it->second;
}

void ModelPatcher::set_injections(const std::string& key, std::vector<Injection> injections) {
  change_extras([&](VariantExtras& extras) { extras.injections.insert_or_assign(key, std::move(injections)); });
}

void ModelPatcher::remove_injections(const std::string& key) {
  change_extras([&](VariantExtras& extras) { extras.injections.erase(key); });
}

void ModelPatcher::set_additional_models(const std::string& key, std::vector<ModelPatcher> models) {
  change_extras([&](VariantExtras& extras) { extras.additional_models.insert_or_assign(key, std::move(models)); });
}

void ModelPatcher::remove_additional_models(const std::string& key) {
  change_extras([&](VariantExtras& extras) { extras.additional_models.erase(key); });
}

std::vector<ModelPatcher> ModelPatcher::get_additional_models(const std::string& key) const {
  const auto it = description_.extras->additional_models.find(key);
  return it == description_.extras->additional_models.end() ? std::vector<ModelPatcher>() : it->second;
}

std::vector<ModelPatcher> ModelPatcher::get_nested_additional_models() const {
  std::vector<ModelPatcher> out;
  const auto add = [&out](const ModelPatcher& of) {
    for (const auto& [key, models] : of.description_.extras->additional_models) out.insert(out.end(), models.begin(), models.end());
  };
  add(*this);
  for (size_t next = 0; next < out.size(); ++next) {
    const ModelPatcher model = out[next];  // `out` grows
    add(model);
  }
  return out;
}

void ModelPatcher::inject_model() {
  if (injected_) return;
  const std::shared_ptr<const VariantExtras> extras = description_.extras;
  std::vector<const Injection*> entered;
  try {
    for (const auto& [key, injections] : extras->injections) {
      for (const Injection& injection : injections) {
        injection.inject(*this, nullptr);
        entered.push_back(&injection);
      }
    }
    injected_ = extras;
    run_callbacks(CallbackPoint::on_inject_model);
  } catch (...) {
    injected_ = nullptr;
    for (auto it = entered.rbegin(); it != entered.rend(); ++it) leave(**it);
    throw;
  }
}

void ModelPatcher::eject_model() noexcept {
  if (!injected_) return;
  const std::shared_ptr<const VariantExtras> extras = std::exchange(injected_, nullptr);
  for (auto key = extras->injections.rbegin(); key != extras->injections.rend(); ++key) {
    for (auto it = key->second.rbegin(); it != key->second.rend(); ++it) leave(*it);
  }
  try {
    run_callbacks(CallbackPoint::on_eject_model);
  } catch (...) {  // NOLINT(bugprone-empty-catch): leaving goes on to its end
  }
}

void ModelPatcher::leave(const Injection& injection) noexcept {
  try {
    injection.eject(*this, nullptr);
  } catch (...) {  // NOLINT(bugprone-empty-catch): leaving goes on to its end
  }
}

}  // namespace veneer::variant

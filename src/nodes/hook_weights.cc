#include "nodes/hook_weights.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "nodes/match_adapter.h"
#include "patch/kinds/values.h"

namespace veneer::nodes {
namespace {

using variant::BaseModel;
using variant::HookModel;
using variant::HookPatches;
using variant::HookTarget;

// Remembers what was found for the last models, so that values keep their identity from run to run.
class RememberedPatches {
 public:
  template <typename Find>
  HookPatches get(const HookModel& model, Find find) const {
    const std::lock_guard lock(mutex_);
    const auto known = std::ranges::find_if(known_, [&](const auto& entry) { return entry.first.lock() == model.base; });
    if (known != known_.end()) return known->second;
    HookPatches found = find();
    std::erase_if(known_, [](const auto& entry) { return entry.first.expired(); });
    if (known_.size() >= kMost) known_.erase(known_.begin());
    known_.emplace_back(model.base, found);
    return found;
  }

 private:
  static constexpr size_t kMost = 4;
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<std::weak_ptr<const BaseModel>, HookPatches>> known_;
};

class LoraWeights final : public variant::HookWeights {
 public:
  LoraWeights(formats::ModelFile file, const HookTargets& targets) : file_(std::move(file)), acts_on_(targets) {}

  Fingerprint fingerprint() const override {
    std::call_once(once_, [&] {
      FingerprintBuilder builder;
      builder.add("lora hook");
      for (const auto& entry : file_.entries()) {
        builder.add(entry.name).add(entry.dtype).add(entry.shape.to_string()).add_bytes(file_.tensor(entry.name).byte_span());
      }
      fingerprint_ = builder.finish();
    });
    return fingerprint_;
  }

  HookPatches patches(const HookModel& model) const override {
    return remembered_.get(model, [&] { return find(model); });
  }

 private:
  HookPatches find(const HookModel& model) const {
    const bool text = model.target == HookTarget::text_encoder;
    const auto belongs = [&](std::string_view layer) { return is_text_layer(layer) == text; };
    AdapterTargets targets;
    (text ? targets.clip : targets.unet) = model.base.get();
    targets.layout = model.layout;
    targets.compat = model.compat;
    const patch::AdapterReport report = match_adapter(file_, targets);
    if (report.patches.empty() && !is_for_other_kind(report, text)) {
      throw patch::no_match_error(file_.name(), report, model.base->architecture());
    }
    return {report.patches, adapter_remark(report, file_.name(), belongs)};
  }

  // Whether a file of which nothing matched has its layers for the other kind of model, where the hook acts.
  bool is_for_other_kind(const patch::AdapterReport& report, bool text) const {
    if (!report.mismatched.empty() || !(text ? acts_on_.diffusion_model : acts_on_.text_encoder)) return false;
    // Names that tell nothing count to diffusion models, whose layers have many names.
    if (!text) return !report.unused_layers.empty() && std::ranges::all_of(report.unused_layers, is_text_layer);
    return std::ranges::any_of(report.unused_layers, [](const std::string& layer) { return !is_text_layer(layer); });
  }

  formats::ModelFile file_;
  HookTargets acts_on_;
  RememberedPatches remembered_;
  mutable std::once_flag once_;
  mutable Fingerprint fingerprint_;
};

class CheckpointWeights final : public variant::HookWeights {
 public:
  CheckpointWeights(ModelStore::Checkpoint checkpoint, std::string name) : name_(std::move(name)) {
    FingerprintBuilder builder;
    builder.add("checkpoint hook");
    if (checkpoint.model) unet_ = checkpoint.model->patcher.model();
    if (checkpoint.clip) clip_ = checkpoint.clip->patcher.model();
    for (const auto& base : {unet_, clip_}) builder.add(base ? base->identity() : Fingerprint{});
    fingerprint_ = builder.finish();
  }

  Fingerprint fingerprint() const override { return fingerprint_; }

  HookPatches patches(const HookModel& model) const override {
    const auto& target = model.target == HookTarget::text_encoder ? clip_ : unet_;
    if (!target) return {};
    return remembered_.get(model, [&] { return differences(*target, *model.base); });
  }

 private:
  HookPatches differences(const BaseModel& target, const BaseModel& base) const {
    if (target.architecture() != base.architecture()) {
      throw Error(ErrorCode::invalid, "hook: the checkpoint is of another architecture than the model",
                  {{"file", name_}, {"file architecture", target.architecture()}, {"model architecture", base.architecture()}});
    }
    HookPatches out;
    for (const auto& [key, weight] : base.weights()) {
      if (!target.has_key(key)) continue;
      const Tensor& other = target.weight(key);
      if (other.shape() != weight.shape()) {
        throw Error(ErrorCode::invalid, "hook: a weight of the checkpoint has another shape than the model's",
                    {{"file", name_}, {"key", key}, {"want", weight.shape().to_string()}, {"got", other.shape().to_string()}});
      }
      if (!is_floating(weight.dtype()) || !is_floating(other.dtype())) continue;
      const Fingerprint id = FingerprintBuilder().add(target.identity()).add(base.identity()).add(key).finish();
      out.values.emplace(key, patch::make_model_as_lora(other, weight, id));
    }
    return out;
  }

  std::string name_;
  std::shared_ptr<const BaseModel> unet_, clip_;
  Fingerprint fingerprint_;
  RememberedPatches remembered_;
};

}  // namespace

std::shared_ptr<const variant::HookWeights> lora_hook_weights(formats::ModelFile file, const HookTargets& targets) {
  return std::make_shared<LoraWeights>(std::move(file), targets);
}

std::shared_ptr<const variant::HookWeights> checkpoint_hook_weights(ModelStore::Checkpoint checkpoint, std::string name) {
  return std::make_shared<CheckpointWeights>(std::move(checkpoint), std::move(name));
}

}  // namespace veneer::nodes

#include "nodes/model_tracking.h"

#include <map>
#include <utility>

#include "nodes/values.h"

namespace veneer::nodes {
namespace {

class Tracker final : public graph::ValueTracker {
 public:
  Tracker(std::shared_ptr<variant::ModelUsage> usage, const ModelStore& models, VariantSwitches& switches)
      : switches_(switches), models_(models.for_prompt()), tracker_(std::move(usage)) {}
  ~Tracker() override {
    try {
      std::map<Fingerprint, const variant::ModelPatcher*> last;
      for (const variant::ModelPatcher& patcher : tracker_.models()) last[patcher.model()->identity()] = &patcher;
      for (const auto& [base, patcher] : last) switches_.ran(base, patcher->fingerprint());
    } catch (...) {  // NOLINT(bugprone-empty-catch): a count less
    }
  }
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  void add_services(graph::Environment& environment) override { environment.add(models_); }
  void before_output() override { models_->require_intact(); }

  void add(const graph::Value& value) noexcept override {
    try {
      if (value.is_list()) {
        for (const graph::Value& element : value.as_list()) add(element);
      } else if (value.is_object()) {
        if (value.holds<ModelValue>()) tracker_.add(value.get<ModelValue>().patcher);
        if (value.holds<ClipValue>()) tracker_.add(value.get<ClipValue>().patcher);
        if (value.holds<VaeValue>()) tracker_.add(value.get<VaeValue>().patcher);
        if (value.holds<GuiderValue>()) tracker_.add(value.get<GuiderValue>().model.patcher);
      }
    } catch (...) {  // NOLINT(bugprone-empty-catch): without a mark a prompt runs as well
    }
  }

 private:
  VariantSwitches& switches_;
  const std::shared_ptr<ModelStore> models_;
  variant::PromptModelTracker tracker_;
};

}  // namespace

void VariantSwitches::ran(const Fingerprint& base, const Fingerprint& variant) {
  constexpr size_t kMostBases = 256;
  const std::lock_guard lock(mutex_);
  if (last_.size() >= kMostBases && !last_.contains(base)) last_.clear();
  const auto [at, first] = last_.try_emplace(base, variant);
  if (!first && at->second != variant) ++count_;
  at->second = variant;
}

graph::ValueTracking track_models(std::shared_ptr<variant::ModelUsage> usage, std::shared_ptr<ModelStore> models,
                                  std::shared_ptr<VariantSwitches> switches) {
  return {[usage = std::move(usage), models = std::move(models), switches = std::move(switches)](const std::string&) {
    return std::make_unique<Tracker>(usage, *models, *switches);
  }};
}

}  // namespace veneer::nodes

#include "nodes/model_tracking.h"

#include "nodes/values.h"

namespace veneer::nodes {
namespace {

class Tracker final : public graph::ValueTracker {
 public:
  explicit Tracker(std::shared_ptr<variant::ModelUsage> usage) : tracker_(std::move(usage)) {}

  void add(const graph::Value& value) noexcept override {
    try {
      if (value.is_list()) {
        for (const graph::Value& element : value.as_list()) add(element);
      } else if (value.is_object()) {
        if (value.holds<ModelValue>()) tracker_.add(value.get<ModelValue>().patcher);
        if (value.holds<ClipValue>()) tracker_.add(value.get<ClipValue>().patcher);
        if (value.holds<VaeValue>()) tracker_.add(value.get<VaeValue>().patcher);
      }
    } catch (...) {  // NOLINT(bugprone-empty-catch): without a mark a prompt runs as well
    }
  }

 private:
  variant::PromptModelTracker tracker_;
};

}  // namespace

graph::ValueTracking track_models(std::shared_ptr<variant::ModelUsage> usage) {
  return {[usage = std::move(usage)](const std::string&) { return std::make_unique<Tracker>(usage); }};
}

}  // namespace veneer::nodes

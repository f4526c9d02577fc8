// The views of a model that one run needs: of the variant itself, and of what hooks make of it from step to step.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "variant/hooked_variant.h"
#include "variant/model_view.h"

namespace veneer::variant {

// One per run, used by one thread at a time.
class HookedViews {
 public:
  // Hooked views that are kept open; the one that was not used for longest goes first.
  static constexpr size_t kMostViews = 8;

  HookedViews(ModelPatcher patcher, HookModel model, std::shared_ptr<const sampling::ModelSampling> model_sampling);

  // The view for prompts with these hooks (or null) at a noise level. Keyframes advance by this call: it is to be made for each level in order of the
  // run. `run_sigmas`: those of the run, or empty. Valid until the next call. Throws what hooked_variant and open_view do.
  ModelView& at(const sampling::CondHooks* hooks, float sigma, std::span<const float> run_sigmas);

  std::vector<std::string> take_remarks() { return source_.take_remarks(); }
  // Views that were opened so far.
  size_t opened() const { return opened_; }

 private:
  using Walks = std::vector<KeyframeWalk>;
  struct Entry {
    Fingerprint key;
    std::unique_ptr<ModelView> view;
  };

  std::vector<double> factors(const HookGroup& group, float sigma, std::span<const float> run_sigmas);
  ModelView& plain();

  ModelPatcher patcher_;
  HookPatchSource source_;
  std::shared_ptr<const sampling::ModelSampling> model_sampling_;
  std::map<Fingerprint, Walks> walks_;  // by group
  std::unique_ptr<ModelView> plain_;
  std::list<Entry> hooked_;  // the last used first
  size_t opened_ = 0;
};

}  // namespace veneer::variant

// One evaluation of a network of SD 1.5's size with random weights, with what its profile says.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/profile.h"
#include "bench/rounds.h"
#include "compute/block_cache.h"
#include "compute/context.h"
#include "models/family/checkpoint.h"
#include "residency/resident_set.h"
#include "tensor/dtype.h"
#include "variant/model_patcher.h"
#include "veneer/profile.h"

namespace veneer::bench {

struct Evaluation {
  double seconds = 0;        // the best round
  double first_seconds = 0;  // the first call, which packs the weights
  double flops = 0;          // of convolutions, matmuls and attention, 2 per multiply-add
  // Parts of the best round's time.
  double matrix_share = 0;  // in those
  double other_share = 0;   // in other ops
  double packed_bytes = 0;  // of ready-to-run weights
  double peak_activation_bytes = 0;
};

// A network with its base; evaluations of one dtype share packed weights.
template <typename Network>
class Stage {
 public:
  Stage(const models::Loaded<Network>& loaded, DType dtype, compute::WeightStorage storage = compute::WeightStorage::computed)
      : dtype_(dtype), network_(loaded.network), residents_(std::make_shared<residency::ResidentSet>()) {
    auto runtime = std::make_shared<variant::Runtime>();
    runtime->residents = residents_;
    runtime->weight_storage = storage;
    view_ = variant::ModelPatcher(loaded.base, std::move(runtime), dtype).open_view();
  }

  // run(network, view, context) is one evaluation. `beside` is called before each round, for what the figure is divided by.
  template <typename Run>
  Evaluation measure(const Rounds& rounds, const std::function<void()>& beside, const Run& run);

 private:
  DType dtype_;
  std::shared_ptr<const Network> network_;
  std::shared_ptr<residency::ResidentSet> residents_;
  std::unique_ptr<variant::ModelView> view_;
  std::shared_ptr<compute::OperationCache> operations_ = compute::make_operation_cache();
};

// The parts of a profile of one evaluation. `out.seconds` etc. are replaced when it was the best so far.
void take_best(const ProfileReport& report, double seconds, Evaluation& out);
ProfileReport report_of(Profile& profile);

template <typename Network>
template <typename Run>
Evaluation Stage<Network>::measure(const Rounds& rounds, const std::function<void()>& beside, const Run& run) {
  compute::BlockCache scratch;
  Profile profile;
  compute::Context context{.scratch = scratch, .dtype = dtype_, .operations = operations_, .profile = &profile};
  Evaluation out;
  const auto once = [&] {
    const auto start = std::chrono::steady_clock::now();
    run(*network_, *view_, context);
    return seconds_since(start);
  };
  out.first_seconds = once();
  rounds.run([&] {
    if (beside) beside();
    profile.take();
    const double seconds = once();
    take_best(report_of(profile), seconds, out);
    return seconds;
  });
  out.packed_bytes = static_cast<double>(residents_->size_bytes());
  out.peak_activation_bytes = static_cast<double>(scratch.peak_bytes());
  return out;
}

}  // namespace veneer::bench

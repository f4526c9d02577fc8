// What a network under hooks gets to see of a run.
#include <gmock/gmock.h>

#include <algorithm>
#include <memory>

#include "sampling/sample.h"
#include "sampling/test_network.h"

namespace veneer::sampling {
namespace {

using ::testing::Each;
using ::testing::ElementsAreArray;
using ::testing::SizeIs;

class Hooks final : public CondHooks {
 public:
  Fingerprint fingerprint() const override { return {1, 2}; }
};

TEST(CondHooks, TheNetworkGetsThemWithTheLevelsOfTheRun) {
  const ModelSampling eps = ModelSampling::discrete(Prediction::eps);
  const auto hooks = std::make_shared<Hooks>();
  std::vector<const CondHooks*> seen;
  std::vector<std::vector<float>> levels;
  SampleRequest request{.model_sampling = eps, .network = [&, inner = painter()](const NetworkInput& input) {
                          seen.push_back(input.hooks);
                          levels.emplace_back(input.run_sigmas.begin(), input.run_sigmas.end());
                          return inner(input);
                        }};
  request.positive = {paint(1)};
  request.positive[0].hooks = hooks;
  request.negative = {paint(-1)};
  request.latent.samples = filled(Shape{1, 4, 2, 2}, 0);
  request.steps = 3;
  request.cfg = 2;
  const std::vector<float> sigmas = sample_sigmas(request);
  sample(request);
  EXPECT_THAT(seen, SizeIs(6));  // each step once with and once without
  EXPECT_EQ(std::count(seen.begin(), seen.end(), static_cast<const CondHooks*>(hooks.get())), 3);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), static_cast<const CondHooks*>(nullptr)), 3);
  EXPECT_THAT(levels, Each(ElementsAreArray(sigmas)));
}

}  // namespace
}  // namespace veneer::sampling

#include "nodes/options/add_downscale.h"

#include <gmock/gmock.h>

#include "compute/test_data.h"
#include "sampling/nchw.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

using compute::random_tensor;
using sampling::ResampleMethod;

std::vector<float> values(const Tensor& tensor) { return {tensor.floats().begin(), tensor.floats().end()}; }

class AddDownscale : public ::testing::Test {
 protected:
  // What comes out of input block `block` at `percent` of the run.
  Tensor shrink(const DownscaleSettings& settings, int block, double percent) {
    variant::PatchCall call;
    call.position = {"input", block, 0};
    call.sigmas = {static_cast<float>(model_sampling_.percent_to_sigma(percent))};
    return shrink_input_block(settings, model_sampling_).fn(h_, call);
  }

  sampling::ModelSampling model_sampling_ = sampling::ModelSampling::discrete(sampling::Prediction::eps);
  Tensor h_ = random_tensor(Shape{2, 6, 9, 3}, 1);
};

TEST_F(AddDownscale, ShrinksWithTheMethodItIsSetTo) {
  for (const ResampleMethod method : {ResampleMethod::bicubic, ResampleMethod::bislerp, ResampleMethod::area}) {
    const Tensor out = shrink({.shrink = method}, 3, 0.2);
    EXPECT_EQ(out.shape(), Shape({2, 3, 4, 3}));  // 4.5 rounds to the even 4
    EXPECT_EQ(values(out), values(sampling::to_pixels(sampling::resample(sampling::to_planes(h_), 4, 3, method))));
  }
  EXPECT_EQ(shrink({.factor = 0.5}, 3, 0.2).shape(), Shape({2, 12, 18, 3}));
}

TEST_F(AddDownscale, KeepsToItsBlockAndItsPartOfTheRun) {
  const DownscaleSettings settings{.start_percent = 0.1, .end_percent = 0.35};
  EXPECT_NE(shrink(settings, 3, 0.2).shape(), h_.shape());
  EXPECT_NE(shrink(settings, 3, 0.35).shape(), h_.shape());
  EXPECT_EQ(values(shrink(settings, 3, 0.05)), values(h_));
  EXPECT_EQ(values(shrink(settings, 3, 0.4)), values(h_));
  EXPECT_EQ(values(shrink(settings, 4, 0.2)), values(h_));
  EXPECT_EQ(values(shrink({.factor = 1}, 3, 0.2)), values(h_));
}

TEST_F(AddDownscale, RefusesToShrinkToNothing) {
  h_ = random_tensor(Shape{1, 2, 2, 3}, 1);
  EXPECT_THROW(shrink({.factor = 9}, 3, 0.2), Error);
}

TEST_F(AddDownscale, GrowsFeaturesToTheSizeOfTheirSkip) {
  const auto grow = grow_to_skip(ResampleMethod::bilinear);
  const Tensor skip = random_tensor(Shape{2, 12, 9, 5}, 2);
  const variant::BlockAndSkip out = grow.fn({h_, skip}, {});
  EXPECT_EQ(values(out.h), values(sampling::to_pixels(sampling::resample(sampling::to_planes(h_), 9, 12, ResampleMethod::bilinear))));
  EXPECT_EQ(values(out.skip), values(skip));
  EXPECT_EQ(grow.fn({h_, random_tensor(Shape{2, 6, 10, 5}, 2)}, {}).h.dim(2), 10);  // also where only the width differs
  EXPECT_EQ(values(grow.fn({h_, h_}, {}).h), values(h_));
}

TEST_F(AddDownscale, IsAnotherForEveryParameter) {
  const auto id = [&](const DownscaleSettings& settings) { return shrink_input_block(settings, model_sampling_).id; };
  const DownscaleSettings settings;
  EXPECT_EQ(id(settings), id(settings));
  EXPECT_NE(id({.block_number = 4}), id(settings));
  EXPECT_NE(id({.factor = 3}), id(settings));
  EXPECT_NE(id({.start_percent = 0.1}), id(settings));
  EXPECT_NE(id({.end_percent = 0.4}), id(settings));
  EXPECT_NE(id({.shrink = ResampleMethod::area}), id(settings));
  EXPECT_NE(shrink_input_block(settings, sampling::ModelSampling::flow(3)).id, id(settings));
  EXPECT_NE(grow_to_skip(ResampleMethod::area).id, grow_to_skip(ResampleMethod::bicubic).id);
}

}  // namespace
}  // namespace veneer::nodes

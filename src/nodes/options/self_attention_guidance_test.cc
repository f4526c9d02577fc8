#include "nodes/options/self_attention_guidance.h"

#include <gmock/gmock.h>

#include "compute/ops.h"
#include "compute/test_data.h"
#include "sampling/gaussian_blur.h"
#include "sampling/guidance.h"
#include "sampling/test_network.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

using compute::random_tensor;
using sampling::values;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::IsNull;
using ::testing::Pointwise;
using ::testing::SizeIs;

constexpr const char* kReceived = "self-attention guidance: attention received";

class NotingAttention : public ::testing::Test {
 protected:
  NotingAttention() {
    call_.heads = 2;
    call_.head_dim = 3;
    call_.height = 2;
    call_.width = 3;
    call_.run = &run_;
  }
  Tensor attend(std::vector<int> cond_or_uncond) {
    call_.cond_or_uncond = std::move(cond_or_uncond);
    return noting_attention().fn(qkv_, call_);
  }
  // How much key j of a row gets, by the definition, in double.
  double received(int64_t row, int64_t key) const {
    double total = 0;
    for (int64_t head = 0; head < 2; ++head) {
      for (int64_t i = 0; i < 6; ++i) {
        double sum = 0;
        double own = 0;
        for (int64_t j = 0; j < 6; ++j) {
          double dot = 0;
          for (int64_t c = 0; c < 3; ++c) dot += at(qkv_.q, row, i, head * 3 + c) * at(qkv_.k, row, j, head * 3 + c);
          const double weight = std::exp(dot / std::sqrt(3.0));
          sum += weight;
          if (j == key) own = weight;
        }
        total += own / sum / 2;
      }
    }
    return total;
  }
  static double at(const Tensor& t, int64_t row, int64_t token, int64_t channel) {
    return static_cast<double>(t.data<float>()[(row * t.dim(1) + token) * t.dim(2) + channel]);
  }

  sampling::RunState run_;
  variant::PatchCall call_;
  variant::QKV qkv_{random_tensor(Shape{4, 6, 6}, 1, 2), random_tensor(Shape{4, 6, 6}, 2), random_tensor(Shape{4, 6, 6}, 3)};
};

TEST_F(NotingAttention, IsAttention) {
  compute::Context context;
  const Tensor want = compute::attention(context, {qkv_.q}, {qkv_.k}, {qkv_.v}, {.heads = 2, .head_dim = 3});
  EXPECT_THAT(values(attend({1, 0})), Pointwise(FloatNear(1e-5F), values(want)));
  EXPECT_THAT(values(attend({0, 0})), Pointwise(FloatNear(1e-5F), values(want)));
}

TEST_F(NotingAttention, NotesWhatTheNegativeTokensGet) {
  for (const bool first : {true, false}) {
    attend(first ? std::vector<int>{1, 0} : std::vector<int>{0, 1});
    const Tensor* noted = run_.notes.find<Tensor>(kReceived);
    ASSERT_NE(noted, nullptr);
    ASSERT_EQ(noted->shape(), Shape({2, 2, 3}));
    for (int64_t n = 0; n < 2; ++n) {
      for (int64_t j = 0; j < 6; ++j) {
        EXPECT_NEAR(static_cast<double>(noted->data<float>()[n * 6 + j]), received(first ? n : n + 2, j), 1e-5);
      }
    }
  }
}

TEST_F(NotingAttention, NotesNothingOfPositivePromptsOrOutsideOfARun) {
  attend({0, 0});
  EXPECT_THAT(run_.notes.find<Tensor>(kReceived), IsNull());
  call_.run = nullptr;
  attend({1, 0});
  EXPECT_THAT(run_.notes.find<Tensor>(kReceived), IsNull());
}

TEST(BlurAttended, BlursWhereMoreThanTheAverageIsReceived) {
  const Tensor latent = sampling::filled(Shape{2, 1, 2, 4}, 1);
  const Tensor blurred = sampling::filled(latent.shape(), 2);
  const Tensor received = Tensor::from(Shape{2, 1, 2}, std::vector<float>{1.5F, 0.5F, 1.0F, 1.01F});
  EXPECT_THAT(values(blur_attended(latent, blurred, received)), ElementsAre(2, 2, 1, 1, 2, 2, 1, 1, 1, 1, 2, 2, 1, 1, 2, 2));
}

// A network whose clean latent is a constant of the prompt times the mean of x, with a middle block's attention noted as `received`.
class SelfAttentionGuidance : public ::testing::Test {
 protected:
  Tensor denoise(double scale, const Tensor& received, const Tensor& x) {
    sampling::GuidanceOptions options;
    options.post_cfg.push_back(self_attention_guidance(scale, 1.5));
    options.disable_cfg1_optimization = true;
    const sampling::Network network = [&](const sampling::NetworkInput& input) {
      if (input.cond_or_uncond.size() > 1 && received.defined()) input.run->notes.get<Tensor>(kReceived) = received;
      calls_.push_back(input);
      Tensor out = input.x.clone();  // x0 prediction: itself, times the prompt
      const int64_t size = out.shape().num_elements_from(1);
      for (int64_t i = 0; i < out.num_elements(); ++i) out.mutable_floats()[static_cast<size_t>(i)] *= input.context.data<float>()[i / size * 6];
      return out;
    };
    sampling::CfgDenoiser d({.model_sampling = model_sampling_, .network = network, .options = options, .scale = 3}, {sampling::paint(1)},
                            {sampling::paint(0.5F)}, x.shape());
    return d.denoise(x, 1);
  }

  sampling::ModelSampling model_sampling_ = sampling::ModelSampling::discrete(sampling::Prediction::x0);
  std::vector<sampling::NetworkInput> calls_;
};

TEST_F(SelfAttentionGuidance, GoesAwayFromWhatTheBlurredStartGives) {
  const Tensor x = random_tensor(Shape{1, 2, 6, 8}, 4);
  const Tensor received = Tensor::from(Shape{1, 2, 2}, std::vector<float>{2, 0, 0, 2});
  const Tensor plain = denoise(0, received, x);
  const Tensor guided = denoise(0.75, received, x);
  // By hand: input x / sqrt(2), so uncond = 0.5 x / sqrt(2).
  const float root = std::sqrt(2.0F);
  Tensor uncond = x.clone();
  for (float& v : uncond.mutable_floats()) v *= 0.5F / root;
  const Tensor degraded = blur_attended(uncond, sampling::gaussian_blur(uncond, 1.5), received);
  std::vector<float> want;
  for (size_t i = 0; i < x.floats().size(); ++i) {
    const float start = degraded.floats()[i] + x.floats()[i] - uncond.floats()[i];
    want.push_back(plain.floats()[i] + 0.75F * (degraded.floats()[i] - 0.5F / root * start));
  }
  EXPECT_THAT(values(guided), Pointwise(FloatNear(1e-5F), want));
  EXPECT_THAT(calls_.back().cond_or_uncond, ElementsAre(0));
}

TEST_F(SelfAttentionGuidance, LeavesSmallLatentsAsTheyAre) {
  const Tensor x = random_tensor(Shape{1, 2, 4, 8}, 4);
  denoise(0.75, {}, x);
  EXPECT_THAT(calls_, SizeIs(1));
}

TEST_F(SelfAttentionGuidance, RefusesANetworkThatNotesNoAttention) { EXPECT_THROW(denoise(0.75, {}, random_tensor(Shape{1, 2, 6, 8}, 4)), Error); }

TEST_F(SelfAttentionGuidance, IsAnotherForEveryParameter) {
  EXPECT_EQ(self_attention_guidance(0.5, 2).id, self_attention_guidance(0.5, 2).id);
  EXPECT_NE(self_attention_guidance(0.5, 2).id, self_attention_guidance(0.6, 2).id);
  EXPECT_NE(self_attention_guidance(0.5, 2).id, self_attention_guidance(0.5, 3).id);
}

}  // namespace
}  // namespace veneer::nodes

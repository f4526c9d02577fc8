#include "models/vae/vae.h"

#include <gmock/gmock.h>

#include "compute/ops.h"
#include "models/testing/naive_network.h"
#include "models/testing/test_models.h"
#include "veneer/error.h"

namespace veneer::models {
namespace {

using compute::random_tensor;
using naive::Planes;

// The autoencoder again, straight from the names of its weights.
class NaiveVae {
 public:
  explicit NaiveVae(const WeightMap& weights) : net_(weights) {}

  // [1, 3, H, W] in -1..1 -> moments.
  Planes encode(const Planes& pixels) const {
    Planes h = net_.conv(pixels, "encoder.conv_in");
    for (int i = 0; net_.has("encoder.down." + std::to_string(i) + ".block.0.conv1"); ++i) {
      const std::string level = "encoder.down." + std::to_string(i) + ".";
      h = blocks(h, level);
      if (net_.has(level + "downsample.conv")) h = net_.conv(h, level + "downsample.conv", 2, 0, 1);
    }
    h = middle(h, "encoder.mid.");
    return net_.conv(net_.conv(naive::silu(net_.group_norm(h, "encoder.norm_out", 1e-6)), "encoder.conv_out"), "quant_conv");
  }

  Planes decode(const Planes& latent) const {
    Planes h = middle(net_.conv(net_.conv(latent, "post_quant_conv"), "decoder.conv_in"), "decoder.mid.");
    int levels = 0;
    while (net_.has("decoder.up." + std::to_string(levels) + ".block.0.conv1")) ++levels;
    for (int i = levels; i-- > 0;) {
      const std::string level = "decoder.up." + std::to_string(i) + ".";
      h = blocks(h, level);
      if (net_.has(level + "upsample.conv")) h = net_.conv(naive::Network::upsampled(h, 2 * h.h, 2 * h.w), level + "upsample.conv");
    }
    return net_.conv(naive::silu(net_.group_norm(h, "decoder.norm_out", 1e-6)), "decoder.conv_out");
  }

 private:
  Planes blocks(Planes h, const std::string& level) const {
    for (int j = 0; net_.has(level + "block." + std::to_string(j) + ".conv1"); ++j) h = block(h, level + "block." + std::to_string(j) + ".");
    return h;
  }

  Planes block(const Planes& x, const std::string& stem) const {
    const Planes h = net_.conv(naive::silu(net_.group_norm(x, stem + "norm1", 1e-6)), stem + "conv1");
    return naive::add(net_.conv(naive::silu(net_.group_norm(h, stem + "norm2", 1e-6)), stem + "conv2"),
                      net_.has(stem + "nin_shortcut") ? net_.conv(x, stem + "nin_shortcut") : x);
  }

  Planes middle(const Planes& x, const std::string& stem) const {
    const Planes h = block(x, stem + "block_1.");
    const std::string attn = stem + "attn_1.";
    const Planes n = net_.group_norm(h, attn + "norm", 1e-6);
    const Planes mixed = naive::Network::attention(net_.conv(n, attn + "q"), net_.conv(n, attn + "k"), net_.conv(n, attn + "v"), 1);
    return block(naive::add(net_.conv(mixed, attn + "proj_out"), h), stem + "block_2.");
  }

  naive::Network net_;
};

class VaeTest : public ::testing::Test {
 protected:
  VaeTest() : VaeTest(testing::tiny_vae_config()) {}
  explicit VaeTest(VaeConfig config)
      : vae(std::move(config)),
        base(testing::base_of(vae.architecture(), testing::test_weights(vae.architecture(), 5))),
        view(testing::variant_of(base).open_view()) {}

  // What `call` throws.
  template <typename Call>
  static Error failure(Call call) {
    try {
      call();
    } catch (const Error& error) {
      return error;
    }
    return Error(ErrorCode::internal, "nothing was thrown");
  }

  Vae vae;
  std::shared_ptr<const variant::BaseModel> base;
  std::unique_ptr<variant::ModelView> view;
  compute::Context context;
};

struct LinearVaeTest : VaeTest {
  static VaeConfig config() {
    VaeConfig config = testing::tiny_vae_config();
    config.linear_attention = true;
    config.quant_convs = false;
    return config;
  }
  LinearVaeTest() : VaeTest(config()) {}
};

// [1, H, W, 3] in 0..1 -> [1, 3, H, W] in -1..1.
Planes centred_planes(const Tensor& image) {
  Planes out(1, 3, image.dim(1), image.dim(2));
  for (int64_t c = 0; c < 3; ++c)
    for (int64_t i = 0; i < out.h * out.w; ++i)
      out.at(0, c, i / out.w, i % out.w) = static_cast<double>(image.floats()[static_cast<size_t>(i * 3 + c)]) * 2 - 1;
  return out;
}

TEST(VaeConfig, OfSd15GivesTheTensorsOfTheRealFile) {
  const Architecture architecture = build_vae_structure(sd15_vae_config()).architecture;
  std::map<std::string, Shape> table;
  int64_t parameters = 0;
  for (const WeightSpec& spec : architecture.weights) {
    EXPECT_TRUE(table.emplace(spec.key, spec.shape).second) << spec.key;
    parameters += spec.shape.num_elements();
  }
  EXPECT_EQ(table.size(), 248U);
  EXPECT_EQ(parameters, 83'653'863);
  EXPECT_EQ(table.at("decoder.up.0.block.0.nin_shortcut.weight"), Shape({128, 256, 1, 1}));
  EXPECT_EQ(table.at("decoder.up.3.upsample.conv.weight"), Shape({512, 512, 3, 3}));
  EXPECT_EQ(table.at("encoder.down.2.downsample.conv.weight"), Shape({512, 512, 3, 3}));
  EXPECT_EQ(table.at("encoder.mid.attn_1.q.weight"), Shape({512, 512, 1, 1}));
  EXPECT_EQ(table.at("quant_conv.weight"), Shape({8, 8, 1, 1}));
}

TEST_F(VaeTest, ConfigIsReadBackFromShapes) { EXPECT_EQ(infer_vae_config(base->weights(), "file"), vae.config()); }

TEST_F(LinearVaeTest, ConfigIsReadBackFromShapes) { EXPECT_EQ(infer_vae_config(base->weights(), "file"), vae.config()); }

TEST_F(VaeTest, EncodesAsPlainLoopsDo) {
  const Tensor image = random_tensor(Shape({1, 6, 10, 3}), 1, 0.3F, 0.5F);
  const Tensor want = naive::to_tensor(NaiveVae(base->weights()).encode(centred_planes(image)));
  EXPECT_LT(compute::max_error(vae.encode_moments(*view, context, image), want), 2e-5);
}

TEST_F(VaeTest, DecodesAsPlainLoopsDo) {
  const Tensor latent = random_tensor(Shape({1, 4, 3, 5}), 1);
  const Planes want = NaiveVae(base->weights()).decode(naive::from_tensor(latent));
  const Tensor raw = vae.decode_raw(*view, context, latent);
  EXPECT_EQ(raw.shape(), Shape({1, 6, 10, 3}));
  EXPECT_LT(compute::max_error(compute::to_nchw_f32(context, raw), naive::to_tensor(want)), 2e-5);
  const Tensor image = vae.decode(*view, context, latent);
  for (size_t i = 0; i < image.floats().size(); ++i) {
    EXPECT_EQ(image.floats()[i], std::clamp((raw.floats()[i] + 1) / 2, 0.0F, 1.0F));
  }
}

TEST_F(LinearVaeTest, RunsWithMatricesInItsAttention) {
  const Tensor latent = vae.encode(*view, context, random_tensor(Shape({1, 6, 10, 3}), 1, 0.3F, 0.5F));
  EXPECT_EQ(latent.shape(), Shape({1, 4, 3, 5}));
  EXPECT_EQ(vae.decode(*view, context, latent).shape(), Shape({1, 6, 10, 3}));
}

TEST_F(VaeTest, RunsElementsOfABatchAlone) {
  const Tensor latents = random_tensor(Shape({2, 4, 3, 5}), 1);
  const Tensor both = vae.decode(*view, context, latents);
  EXPECT_EQ(both.shape(), Shape({2, 6, 10, 3}));
  EXPECT_EQ(compute::max_error(vae.decode(*view, context, latents.slice(1, 1)), both.slice(1, 1)), 0);
}

TEST_F(VaeTest, CutsImagesCentrallyAndIgnoresAlpha) {
  const Tensor large = random_tensor(Shape({1, 7, 11, 4}), 1, 0.3F, 0.5F);
  // One row and one column too many: the cut begins at (1 % 2) / 2 = 0.
  Tensor cut = Tensor::empty(Shape({1, 6, 10, 3}), DType::f32);
  for (int64_t y = 0; y < 6; ++y)
    for (int64_t x = 0; x < 10; ++x)
      for (int64_t c = 0; c < 3; ++c) cut.mutable_data<float>()[(y * 10 + x) * 3 + c] = large.data<float>()[(y * 11 + x) * 4 + c];
  EXPECT_EQ(compute::max_error(vae.encode(*view, context, large), vae.encode(*view, context, cut)), 0);
}

TEST(CropToMultiple, BeginsAtHalfOfWhatIsOver) {
  const Tensor image = random_tensor(Shape({2, 13, 9, 1}), 1);
  const Tensor cut = crop_to_multiple(image, 8);
  ASSERT_EQ(cut.shape(), Shape({2, 8, 8, 1}));
  EXPECT_EQ(cut.floats()[64], image.floats()[static_cast<size_t>(13 * 9 + 2 * 9)]);
  EXPECT_EQ(crop_to_multiple(image, 1).bytes(), image.bytes());
}

TEST_F(VaeTest, ACheckpointMayEndTheCall) {
  VaeCallExtras extras;
  int calls = 0;
  extras.checkpoint = [&] {
    if (++calls == 3) throw Error(ErrorCode::cancelled, "the job was cancelled");
  };
  EXPECT_EQ(failure([&] { vae.decode(*view, context, random_tensor(Shape({1, 4, 3, 5}), 1), extras); }).code(), ErrorCode::cancelled);
  EXPECT_EQ(calls, 3);
}

TEST_F(VaeTest, RefusesTensorsThatDoNotFit) {
  for (const Tensor& bad :
       {Tensor(), random_tensor(Shape({1, 6, 10}), 1), random_tensor(Shape({1, 6, 10, 2}), 1), random_tensor(Shape({1, 1, 10, 3}), 1)}) {
    EXPECT_EQ(failure([&] { vae.encode(*view, context, bad); }).code(), ErrorCode::invalid);
  }
  for (const Tensor& bad :
       {Tensor(), random_tensor(Shape({4, 6, 10}), 1), random_tensor(Shape({1, 3, 3, 3}), 1), Tensor::zeros(Shape({1, 4, 0, 3}), DType::f32)}) {
    EXPECT_EQ(failure([&] { vae.decode(*view, context, bad); }).code(), ErrorCode::invalid);
  }
}

TEST_F(VaeTest, RefusesAViewOfAnotherModel) {
  ArchitectureBuilder builder("");
  builder.norm("a", 8);
  const Architecture architecture = builder.finish();
  view = testing::variant_of(testing::base_of(architecture, testing::test_weights(architecture, 1))).open_view();
  EXPECT_EQ(failure([&] { vae.decode(*view, context, random_tensor(Shape({1, 4, 3, 5}), 1)); }).code(), ErrorCode::internal);
}

TEST(Posterior, ClampsTheLogVariance) {
  const Posterior posterior = posterior_of(Tensor::from(Shape({1, 4, 1, 1}), std::vector<float>{1, 2, -100, 100}));
  EXPECT_EQ(posterior.mean.floats()[1], 2);
  EXPECT_FLOAT_EQ(posterior.std.floats()[0], std::exp(-15.0F));
  EXPECT_FLOAT_EQ(posterior.std.floats()[1], std::exp(10.0F));
  EXPECT_FLOAT_EQ(sample_posterior(posterior, Tensor::from(Shape({1, 2, 1, 1}), std::vector<float>{0, 1})).floats()[1], 2 + std::exp(10.0F));
}

}  // namespace
}  // namespace veneer::models

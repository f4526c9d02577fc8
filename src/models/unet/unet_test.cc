#include "models/unet/unet.h"

#include <gmock/gmock.h>

#include <array>
#include <cstring>

#include "models/testing/naive_network.h"
#include "models/testing/test_models.h"
#include "veneer/error.h"

namespace veneer::models {
namespace {

using compute::random_tensor;
using naive::Planes;
using variant::AttentionInputs;
using variant::PatchCall;

// The UNet again, straight from the names of its weights.
class NaiveUnet {
 public:
  NaiveUnet(const WeightMap& weights, int64_t heads) : net_(weights), heads_(heads) {}

  Planes operator()(const Planes& x, const std::vector<float>& timesteps, const Tensor& context) {
    text_ = std::make_unique<Planes>(context.dim(0), context.dim(2), context.dim(1), 1);
    for (int64_t n = 0; n < text_->n; ++n)
      for (int64_t t = 0; t < text_->h; ++t)
        for (int64_t c = 0; c < text_->c; ++c)
          text_->at(n, c, t, 0) = static_cast<double>(context.floats()[static_cast<size_t>((n * text_->h + t) * text_->c + c)]);
    embed(timesteps, net_.values(name("time_embed.0.weight")).size() / net_.values(name("time_embed.0.bias")).size());

    Planes h = net_.conv(x, name("input_blocks.0.0"));
    std::vector<Planes> skips = {h};
    for (int i = 1; net_.has(block("input", i) + "0.op") || net_.has(block("input", i) + "0.in_layers.0"); ++i) {
      h = net_.has(block("input", i) + "0.op") ? net_.conv(h, block("input", i) + "0.op", 2) : res_and_transformer(h, block("input", i));
      skips.push_back(h);
    }
    h = res_and_transformer(h, name("middle_block."));
    h = res_block(h, name("middle_block.2."));
    for (int i = 0; net_.has(block("output", i) + "0.in_layers.0"); ++i) {
      Planes joined(h.n, h.c + skips.back().c, h.h, h.w);
      for (int64_t n = 0; n < h.n; ++n)
        for (int64_t c = 0; c < joined.c; ++c)
          for (int64_t y = 0; y < h.h; ++y)
            for (int64_t z = 0; z < h.w; ++z) joined.at(n, c, y, z) = c < h.c ? h.at(n, c, y, z) : skips.back().at(n, c - h.c, y, z);
      skips.pop_back();
      h = res_and_transformer(joined, block("output", i));
      for (const char* place : {"1.conv", "2.conv"}) {
        if (net_.has(block("output", i) + place))
          h = net_.conv(naive::Network::upsampled(h, skips.back().h, skips.back().w), block("output", i) + place);
      }
    }
    return net_.conv(naive::silu(net_.group_norm(h, name("out.0"), 1e-5)), name("out.2"));
  }

 private:
  static std::string name(const std::string& rest) { return "diffusion_model." + rest; }
  static std::string block(const std::string& kind, int index) { return name(kind + "_blocks." + std::to_string(index) + "."); }

  void embed(const std::vector<float>& timesteps, size_t width) {
    Planes sinusoids(static_cast<int64_t>(timesteps.size()), static_cast<int64_t>(width), 1, 1);
    for (size_t n = 0; n < timesteps.size(); ++n) {
      for (size_t i = 0; i < width / 2; ++i) {
        const double angle = static_cast<double>(timesteps[n]) * std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(width));
        sinusoids.at(static_cast<int64_t>(n), static_cast<int64_t>(i), 0, 0) = std::cos(angle);
        sinusoids.at(static_cast<int64_t>(n), static_cast<int64_t>(i + width / 2), 0, 0) = std::sin(angle);
      }
    }
    emb_ = std::make_unique<Planes>(net_.conv(naive::silu(net_.conv(sinusoids, name("time_embed.0"))), name("time_embed.2")));
  }

  Planes res_block(const Planes& x, const std::string& stem) {
    Planes h = net_.conv(naive::silu(net_.group_norm(x, stem + "in_layers.0", 1e-5)), stem + "in_layers.2");
    const Planes shift = net_.conv(naive::silu(*emb_), stem + "emb_layers.1");
    for (int64_t n = 0; n < h.n; ++n)
      for (int64_t c = 0; c < h.c; ++c)
        for (int64_t y = 0; y < h.h; ++y)
          for (int64_t z = 0; z < h.w; ++z) h.at(n, c, y, z) += shift.at(n, c, 0, 0);
    h = net_.conv(naive::silu(net_.group_norm(h, stem + "out_layers.0", 1e-5)), stem + "out_layers.3");
    return naive::add(h, net_.has(stem + "skip_connection") ? net_.conv(x, stem + "skip_connection") : x);
  }

  Planes attend(const Planes& n, const Planes& context, const std::string& stem) {
    return net_.conv(
        naive::Network::attention(net_.conv(n, stem + "to_q"), net_.conv(context, stem + "to_k"), net_.conv(context, stem + "to_v"), heads_),
        stem + "to_out.0");
  }

  Planes feed_forward(const Planes& n, const std::string& stem) {
    const Planes wide = net_.conv(n, stem + "net.0.proj");
    Planes gated(wide.n, wide.c / 2, wide.h, wide.w);
    const int64_t pixels = wide.h * wide.w;
    for (int64_t i = 0; i < gated.n; ++i)
      for (int64_t c = 0; c < gated.c; ++c)
        for (int64_t p = 0; p < pixels; ++p) {
          const double gate = wide.at(i, c + gated.c, p / wide.w, p % wide.w);
          gated.at(i, c, p / wide.w, p % wide.w) = wide.at(i, c, p / wide.w, p % wide.w) * 0.5 * gate * (1 + std::erf(gate / std::sqrt(2.0)));
        }
    return net_.conv(gated, stem + "net.2");
  }

  Planes res_and_transformer(const Planes& x, const std::string& stem) {
    Planes h = res_block(x, stem + "0.");
    if (!net_.has(stem + "1.proj_in")) return h;
    Planes t = net_.conv(net_.group_norm(h, stem + "1.norm", 1e-6), stem + "1.proj_in");
    for (int i = 0; net_.has(stem + "1.transformer_blocks." + std::to_string(i) + ".norm1"); ++i) {
      const std::string inner = stem + "1.transformer_blocks." + std::to_string(i) + ".";
      Planes n = net_.layer_norm(t, inner + "norm1");
      t = naive::add(attend(n, n, inner + "attn1."), t);
      t = naive::add(attend(net_.layer_norm(t, inner + "norm2"), *text_, inner + "attn2."), t);
      t = naive::add(feed_forward(net_.layer_norm(t, inner + "norm3"), inner + "ff."), t);
    }
    return naive::add(net_.conv(t, stem + "1.proj_out"), h);
  }

  naive::Network net_;
  int64_t heads_;
  std::unique_ptr<Planes> text_, emb_;
};

class UnetTest : public ::testing::Test {
 protected:
  UnetTest() : UnetTest(testing::tiny_unet_config()) {}
  explicit UnetTest(UnetConfig config)
      : unet(std::move(config)),
        base(testing::base_of(unet.architecture(), testing::test_weights(unet.architecture(), 5))),
        variant(testing::variant_of(base)) {}

  Tensor forward(const UnetCallExtras& extras = {}) {
    const auto view = variant.open_view();
    return unet.forward(*view, context, x, timesteps, text, extras);
  }

  // The error that a forward ends with.
  Error failure(const UnetCallExtras& extras = {}) {
    try {
      forward(extras);
    } catch (const Error& error) {
      return error;
    }
    return Error(ErrorCode::internal, "nothing was thrown");
  }

  void set(variant::TransformerOptions options) { variant.set_transformer_options(std::move(options)); }

  Unet unet;
  std::shared_ptr<const variant::BaseModel> base;
  variant::ModelPatcher variant;
  compute::Context context;
  Tensor x = random_tensor(Shape({2, 4, 6, 5}), 1);
  std::vector<float> timesteps = {999.0F, 12.5F};
  Tensor text = random_tensor(Shape({2, 7, 24}), 2);
};

struct LinearUnetTest : UnetTest {
  static UnetConfig config() {
    UnetConfig config = testing::tiny_unet_config();
    config.linear_projection = true;
    config.adm_channels = 12;
    config.heads = {.heads = 0, .head_dim = 16};
    return config;
  }
  LinearUnetTest() : UnetTest(config()) {}
};

TEST_F(UnetTest, AgreesWithPlainLoopsAtAnySize) {
  for (const Shape& shape : {Shape({2, 4, 6, 5}), Shape({2, 4, 1, 1}), Shape({2, 4, 3, 8})}) {
    x = random_tensor(shape, 3);
    const Tensor want = naive::to_tensor(NaiveUnet(base->weights(), 4)(naive::from_tensor(x), timesteps, text));
    EXPECT_LT(compute::max_error(forward(), want), 2e-5) << shape.to_string();
  }
}

TEST_F(UnetTest, InBf16StaysCloseToF32) {
  const Tensor want = forward();
  variant = testing::variant_of(base, DType::bf16);
  context.dtype = DType::bf16;
  EXPECT_LT(compute::max_error(forward(), want), 0.1);
}

TEST_F(UnetTest, RowsOfABatchDoNotMix) {
  const Tensor both = forward();
  x = x.slice(1, 1);
  text = text.slice(1, 1);
  timesteps = {12.5F};
  EXPECT_LT(compute::max_error(forward(), both.slice(1, 1)), 1e-5);
}

TEST_F(UnetTest, ReportsEveryBlockInOrder) {
  std::vector<std::string> seen;
  UnetCallExtras extras;
  extras.observe = [&](const std::string& name, const Tensor& h) {
    seen.push_back(name);
    EXPECT_EQ(h.rank(), 4);
  };
  forward(extras);
  EXPECT_THAT(seen, ::testing::ElementsAre("block_input_0", "block_input_1", "block_input_2", "block_input_3", "block_middle_0", "block_output_0",
                                           "block_output_1", "block_output_2", "block_output_3"));
}

TEST_F(UnetTest, ACheckpointMayEndTheCall) {
  UnetCallExtras extras;
  int calls = 0;
  extras.checkpoint = [&] {
    if (++calls == 3) throw Error(ErrorCode::cancelled, "the job was cancelled");
  };
  EXPECT_EQ(failure(extras).code(), ErrorCode::cancelled);
  EXPECT_EQ(calls, 3);
}

TEST_F(UnetTest, NamesBothWidthsWhenTheTextDoesNotFit) {
  text = random_tensor(Shape({2, 7, 16}), 2);
  const Error error = failure();
  EXPECT_EQ(error.code(), ErrorCode::invalid);
  EXPECT_EQ(error.find("want"), "24");
  EXPECT_EQ(error.find("got"), "16");
}

TEST_F(UnetTest, RefusesInputsThatDoNotFit) {
  const Tensor good = x;
  x = random_tensor(Shape({2, 3, 6, 5}), 1);
  EXPECT_EQ(failure().find("want"), "4");
  x = random_tensor(Shape({2, 4, 6}), 1);
  EXPECT_EQ(failure().find("input"), "x");
  x = Tensor();
  EXPECT_EQ(failure().find("got"), "nothing");
  x = Tensor::zeros(Shape({2, 4, 0, 5}), DType::f32);
  EXPECT_EQ(failure().code(), ErrorCode::invalid);
  x = good;
  timesteps = {1.0F};
  EXPECT_EQ(failure().find("got"), "1");
  timesteps = {1.0F, 2.0F};
  text = random_tensor(Shape({1, 7, 24}), 2);
  EXPECT_EQ(failure().code(), ErrorCode::invalid);
  text = random_tensor(Shape({2, 7, 24}), 2);
  UnetCallExtras extras;
  extras.y = random_tensor(Shape({2, 12}), 3);
  EXPECT_EQ(failure(extras).code(), ErrorCode::invalid);
}

TEST_F(UnetTest, RefusesAViewOfAnotherModel) {
  const Vae vae(testing::tiny_vae_config());
  variant = testing::variant_of(testing::base_of(vae.architecture(), testing::test_weights(vae.architecture(), 1)));
  EXPECT_EQ(failure().text(), "unet: the view is of another model");
}

TEST_F(LinearUnetTest, TakesLinearProjectionsAndVectorConditioning) {
  UnetCallExtras extras;
  EXPECT_EQ(failure(extras).code(), ErrorCode::invalid);
  extras.y = random_tensor(Shape({2, 12}), 3);
  const Tensor one = forward(extras);
  extras.y = random_tensor(Shape({2, 12}), 4);
  EXPECT_GT(compute::max_error(forward(extras), one), 1e-3);
  extras.y = random_tensor(Shape({2, 11}), 4);
  EXPECT_EQ(failure(extras).find("got"), "[2, 11]");
}

TEST_F(UnetTest, PatchesThatChangeNothingGiveTheSameResult) {
  const Tensor want = forward();
  variant::TransformerOptions options;
  int calls = 0;
  const auto same = [&](const Tensor& t, const PatchCall&) { return ++calls, t; };
  const auto same_inputs = [&](const AttentionInputs& in, const PatchCall&) { return ++calls, in; };
  options.attn1_patch = {{{}, same_inputs}};
  options.attn2_patch = {{{}, same_inputs}};
  options.attn1_output_patch = options.attn2_output_patch = options.middle_patch = {{{}, same}};
  options.input_block_patch = options.input_block_patch_after_skip = options.emb_patch = {{{}, same}};
  options.output_block_patch = {{{}, [&](const variant::BlockAndSkip& both, const PatchCall&) { return ++calls, both; }}};
  set(options);
  EXPECT_LT(compute::max_error(forward(), want), 1e-6);
  // 7 transformer blocks (1, 2; 1; 1, 1, 1), 4 input and 4 output blocks, one embedding.
  EXPECT_EQ(calls, 5 * 7 + 2 * 4 + 4 + 1);
}

TEST_F(UnetTest, ReplacementsAreFoundByFullPositionFirst) {
  std::vector<std::string> seen;
  const auto note = [&](const std::string& name) {
    return variant::Identified<Tensor(const variant::QKV&, const PatchCall&)>{
        {}, [&seen, name](const variant::QKV& qkv, const PatchCall& call) {
          seen.push_back(name + std::to_string(call.position.transformer_index));
          EXPECT_EQ(call.heads * call.head_dim, qkv.q.dim(2));
          return qkv.q;
        }};
  };
  variant::TransformerOptions options;
  options.attn1_replace[{"input", 3, -1}] = note("any");
  options.attn1_replace[{"input", 3, 1}] = note("second");
  set(options);
  forward();
  EXPECT_THAT(seen, ::testing::ElementsAre("any0", "second1"));
}

TEST_F(UnetTest, TellsPatchesWhereTheyAre) {
  std::vector<std::string> seen;
  variant::TransformerOptions options;
  options.middle_patch = {{{}, [&](const Tensor& t, const PatchCall& call) {
                             seen.push_back(call.position.block + std::to_string(call.position.block_index) + " " + std::to_string(call.height) +
                                            "x" + std::to_string(call.width) + " " + std::to_string(call.sigmas.at(1)));
                             return t;
                           }}};
  set(options);
  UnetCallExtras extras;
  extras.sigmas = {2.0F, 3.0F};
  forward(extras);
  EXPECT_EQ(seen.front(), "input1 6x5 3.000000");
  EXPECT_EQ(seen.at(3), "middle0 3x3 3.000000");
}

TEST_F(UnetTest, KeepsWhatPatchesRememberForOneForward) {
  std::vector<int> seen;
  variant::RunState run;
  variant::TransformerOptions options;
  options.attn1_patch = {{{}, [](const AttentionInputs& in, const PatchCall& call) { return ++call.state->get<int>("calls"), in; }}};
  options.output_block_patch = {{{}, [&](const variant::BlockAndSkip& both, const PatchCall& call) {
                                   seen.push_back(call.state->get<int>("calls"));
                                   EXPECT_EQ(call.run, &run);
                                   EXPECT_EQ(call.latent_height, 6);
                                   EXPECT_EQ(call.latent_width, 5);
                                   return both;
                                 }}};
  set(options);
  UnetCallExtras extras;
  extras.run = &run;
  forward(extras);
  forward(extras);
  EXPECT_THAT(seen, ::testing::ElementsAre(4, 5, 6, 7, 4, 5, 6, 7));
}

TEST_F(UnetTest, ACallMayBringOptionsOfItsOwn) {
  const Tensor plain = forward();
  variant::TransformerOptions of_the_view;
  of_the_view.emb_patch = {{{}, [](const Tensor& emb, const PatchCall&) { return random_tensor(emb.shape(), 3); }}};
  set(of_the_view);
  const Tensor patched = forward();
  const variant::TransformerOptions none;
  UnetCallExtras extras;
  extras.options = &none;
  EXPECT_EQ(compute::max_error(forward(extras), plain), 0);
  EXPECT_GT(compute::max_error(patched, plain), 1e-3);
}

TEST_F(UnetTest, BlockPatchesMayChangeTheSize) {
  variant::TransformerOptions options;
  options.input_block_patch = {{{}, [](const Tensor& h, const PatchCall& call) {
                                  return call.position.block_index == 1 ? random_tensor(Shape({2, 3, 7, h.dim(3)}), 9) : h;
                                }}};
  options.output_block_patch = {{{}, [](const variant::BlockAndSkip& both, const PatchCall& call) {
                                   if (call.position.block_index != 3) return both;
                                   return variant::BlockAndSkip{random_tensor(Shape({2, 6, 5, both.h.dim(3)}), 8), both.skip};
                                 }}};
  set(options);
  EXPECT_EQ(forward().shape(), x.shape());
}

TEST_F(UnetTest, NamesThePatchThatReturnsTheWrongShape) {
  variant::TransformerOptions options;
  options.attn2_output_patch = {{{}, [](const Tensor&, const PatchCall&) { return Tensor(); }}};
  set(options);
  EXPECT_EQ(failure().find("kind"), "attn2_output_patch");
  options = {};
  options.attn1_patch = {{{}, [](const AttentionInputs& in, const PatchCall&) { return AttentionInputs{in.n.slice(0, 1), in.context, in.value}; }}};
  set(options);
  EXPECT_EQ(failure().find("kind"), "attn1_patch");
  options = {};
  options.attn1_patch = {{{}, [](const AttentionInputs& in, const PatchCall&) {
                            return AttentionInputs{in.n.slice(0, 1), in.context.slice(0, 1), in.value.slice(0, 1)};
                          }}};
  set(options);
  EXPECT_EQ(failure().text(), "unet: attention patches changed the tokens and no output patch restores them");
  options = {};
  options.input_block_patch = {{{}, [](const Tensor& h, const PatchCall& call) {
                                  return call.position.block_index == 3 ? random_tensor(Shape({2, 9, 9, h.dim(3)}), 9) : h;
                                }}};
  set(options);
  // The deepest skip grows along, the next one does not.
  EXPECT_EQ(failure().text(), "unet: patches left a block and its skip with different sizes");
}

TEST_F(UnetTest, ControlSignalsBelongToBlocksFromTheBack) {
  // A signal for the last skip only is the last entry; entries without a tensor add nothing.
  ControlSignals control;
  control.output = {Tensor(), Tensor(), Tensor(), random_tensor(Shape({2, 64, 3, 3}), 4)};
  UnetCallExtras extras;
  const Tensor plain = forward();
  extras.control = &control;
  const Tensor steered = forward(extras);
  EXPECT_GT(compute::max_error(steered, plain), 1e-3);
  EXPECT_EQ(control.output.size(), 4U) << "the caller's lists stay as they are";
  control.output = {control.output.back()};
  EXPECT_EQ(compute::max_error(forward(extras), steered), 0);
  control.middle = {random_tensor(Shape({2, 64, 3, 2}), 4)};
  EXPECT_EQ(failure(extras).find("block"), "middle 0");
}

}  // namespace
}  // namespace veneer::models

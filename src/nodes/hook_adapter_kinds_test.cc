// A hook with an adapter of each kind draws, at each of its keyframes, what the loader's adapter of that strength draws.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compute/test_data.h"
#include "formats/safetensors.h"
#include "nodes/apply_lora.h"
#include "nodes/run_network.h"
#include "nodes/testing/node_bench.h"
#include "nodes/values.h"

namespace veneer::nodes {
namespace {

using compute::random_tensor;
using graph::Value;
using ::testing::FloatNear;
using ::testing::Pointwise;
using variant::LoraApplyMode;

using Tensors = std::vector<std::pair<std::string, Tensor>>;

// Of the demo model: a linear layer [128, 128], the first convolution [64, 4, 3, 3], a norm.
constexpr const char* kLinear = "lora_unet_middle_block_1_transformer_blocks_0_attn1_to_q";
constexpr const char* kConv = "lora_unet_input_blocks_0_0";
constexpr const char* kNorm = "lora_unet_middle_block_1_transformer_blocks_0_norm1";

struct Kind {
  const char* name;
  const char* layer;
  std::vector<std::pair<const char*, Shape>> parts;
  bool low_rank = false;  // may run as a side branch
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

std::vector<Kind> kinds() {
  const Shape up = {128, 4}, down = {4, 128};
  return {
      {"lora", kLinear, {{".lora_up.weight", up}, {".lora_down.weight", down}}, true},
      {"lora_conv", kConv, {{".lora_up.weight", {64, 4, 1, 1}}, {".lora_down.weight", {4, 4, 3, 3}}}, true},
      {"lora_mid", kConv, {{".lora_up.weight", {64, 4, 1, 1}}, {".lora_down.weight", {4, 4, 1, 1}}, {".lora_mid.weight", {4, 4, 3, 3}}}},
      {"dora", kLinear, {{".lora_up.weight", up}, {".lora_down.weight", down}, {".dora_scale", {128, 1}}}},
      {"loha", kLinear, {{".hada_w1_a", up}, {".hada_w1_b", down}, {".hada_w2_a", up}, {".hada_w2_b", down}}},
      {"lokr", kLinear, {{".lokr_w1", {8, 8}}, {".lokr_w2_a", {16, 2}}, {".lokr_w2_b", {2, 16}}}},
      {"glora", kLinear, {{".a1.weight", up}, {".a2.weight", down}, {".b1.weight", up}, {".b2.weight", down}}},
      {"oft", kLinear, {{".oft_blocks", {4, 32, 32}}, {".rescale", {128, 1}}}},
      {"boft", kLinear, {{".oft_blocks", {3, 16, 8, 8}}}},
      {"diff", kConv, {{".diff", {64, 4, 3, 3}}, {".diff_b", {64}}}},
      {"norm", kNorm, {{".w_norm", {128}}, {".b_norm", {128}}}},
      {"set", kLinear, {{".set_weight", {128, 128}}}},
  };
}

class HookAdapterKinds : public ::testing::TestWithParam<Kind> {
 protected:
  // A file in loras/ with the kind's layer.
  static formats::ModelFile write_adapter(const NodeBench& bench) {
    Tensors tensors;
    uint32_t seed = 1;
    for (const auto& [suffix, shape] : GetParam().parts)
      tensors.emplace_back(std::string(GetParam().layer) + suffix, random_tensor(shape, ++seed, 0.2F));
    formats::write_safetensors(bench.root() / "models/loras/mine.safetensors", tensors);
    return bench.store->lora("mine.safetensors");
  }

  static Value keyframe(NodeBench& bench, double strength, double start, const Value& previous) {
    NodeBench::Values in = {{"strength_mult", Value::number(strength)}, {"start_percent", Value::number(start)}};
    if (!previous.is_none()) in.emplace_back("prev_hook_kf", previous);
    return bench.run("CreateHookKeyframe", in)[0];
  }

  // One call of the network, the way a run makes it.
  static std::vector<float> call(const sampling::Network& network, const ModelValue& model, double percent, const variant::HookGroup* hooks) {
    const auto& sampling = *model.patcher.get_model_object<sampling::ModelSampling>(kModelSampling);
    sampling::NetworkInput input;
    input.x = random_tensor(Shape{1, 4, 8, 8}, 3);
    input.sigmas = {static_cast<float>(percent <= 0 ? sampling.sigma_max() : sampling.percent_to_sigma(percent))};
    input.timesteps = {sampling.timestep(input.sigmas[0])};
    input.context = random_tensor(Shape{1, 77, model.network->config().context_dim}, 4);
    input.cond_or_uncond = {0};
    input.hooks = hooks;
    const Tensor out = network(input);
    return {out.floats().begin(), out.floats().end()};
  }

  static sampling::Network network(const NodeBench& bench, const ModelValue& model) {
    return make_network(model, bench.environment.get<ComputeSettings>(), CancelToken());
  }
};

INSTANTIATE_TEST_SUITE_P(All, HookAdapterKinds, ::testing::ValuesIn(kinds()), [](const auto& test) { return std::string(test.param.name); });

TEST_P(HookAdapterKinds, AreTheLoadersAtEveryKeyframe) {
  constexpr double kStrength = 0.8;
  constexpr std::pair<double, double> kFrames[] = {{0.0, 1.0}, {0.3, 0.5}, {0.5, 0.0}, {0.7, -0.6}};  // start, factor
  for (const LoraApplyMode mode : {LoraApplyMode::materialised, LoraApplyMode::automatic, LoraApplyMode::on_demand}) {
    SCOPED_TRACE(to_string(mode));
    NodeBench bench(mode);
    const formats::ModelFile file = write_adapter(bench);
    const Value loaded = bench.run("CheckpointLoaderSimple", {{"ckpt_name", text("shapes-sd-tiny.safetensors")}})[0];
    const auto& model = loaded.get<ModelValue>();
    Value frames;
    for (const auto& [start, factor] : kFrames) frames = keyframe(bench, factor, start, frames);
    const Value hook =
        bench.run("CreateHookLoraModelOnly", {{"lora_name", text("mine.safetensors")}, {"strength_model", Value::number(kStrength)}})[0];
    const Value hooks = bench.run("SetHookKeyframes", {{"hooks", hook}, {"hook_kf", frames}})[0];

    const sampling::Network hooked = network(bench, model);
    const auto plain = call(network(bench, model), model, 0, nullptr);
    for (const auto& [start, factor] : kFrames) {
      SCOPED_TRACE(factor);
      const double percent = start == 0 ? 0 : start + 0.05;
      const LoraResult lora = apply_lora(&model, nullptr, file, {kStrength * factor, 0});
      const auto wanted = call(network(bench, *lora.model), model, percent, nullptr);
      const auto got = call(hooked, model, percent, &hooks.get<variant::HookGroup>());
      if (mode == LoraApplyMode::automatic && GetParam().low_rank) {
        EXPECT_THAT(got, Pointwise(FloatNear(1e-4F), wanted));  // a side branch against patched weights
      } else {
        EXPECT_EQ(got, wanted);
      }
      if (factor == 0) {
        EXPECT_EQ(got, call(network(bench, model), model, percent, nullptr));
      }
      if (start == 0) {
        EXPECT_NE(got, plain) << "the adapter does nothing";
      }
    }
  }
}

TEST_P(HookAdapterKinds, NameFileAndTensorOfANumberThatIsNotFinite) {
  for (const LoraApplyMode mode : {LoraApplyMode::materialised, LoraApplyMode::branch, LoraApplyMode::on_demand}) {
    SCOPED_TRACE(to_string(mode));
    NodeBench bench(mode);
    Tensors tensors;
    for (const auto& [suffix, shape] : GetParam().parts) tensors.emplace_back(std::string(GetParam().layer) + suffix, random_tensor(shape, 5, 0.2F));
    tensors.front().second.mutable_floats()[1] = std::nanf("");
    formats::write_safetensors(bench.root() / "models/loras/mine.safetensors", tensors);
    const Value loaded = bench.run("CheckpointLoaderSimple", {{"ckpt_name", text("shapes-sd-tiny.safetensors")}})[0];
    const auto& model = loaded.get<ModelValue>();
    const Value hook = bench.run("CreateHookLoraModelOnly", {{"lora_name", text("mine.safetensors")}})[0];
    try {
      call(network(bench, model), model, 0.3, &hook.get<variant::HookGroup>());
      ADD_FAILURE() << "drew with it";
    } catch (const Error& error) {
      EXPECT_THAT(std::string(error.find("file")), ::testing::EndsWith("mine.safetensors"));
      EXPECT_EQ(error.find("tensor"), tensors.front().first);
      EXPECT_FALSE(error.find("key").empty());
      EXPECT_FALSE(error.find("allowed").empty());
    }
  }
}

}  // namespace
}  // namespace veneer::nodes

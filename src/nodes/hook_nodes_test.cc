#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "formats/safetensors.h"
#include "nodes/apply_lora.h"
#include "nodes/hook_weights.h"
#include "nodes/run_network.h"
#include "nodes/testing/node_bench.h"
#include "nodes/values.h"

namespace veneer::nodes {
namespace {

using graph::Value;
using sampling::Conditioning;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using ::testing::SizeIs;
using variant::HookGroup;
using variant::LoraApplyMode;

constexpr const char* kModel = "shapes-sd-tiny.safetensors";
constexpr const char* kNight = "style-night.safetensors";
constexpr const char* kOutline = "style-outline.safetensors";

std::vector<float> floats_of(const Tensor& tensor) { return {tensor.floats().begin(), tensor.floats().end()}; }

class HookNodes : public ::testing::TestWithParam<LoraApplyMode> {
 protected:
  explicit HookNodes(LoraApplyMode mode = LoraApplyMode::materialised)
      : bench_(mode), loaded_(bench_.run("CheckpointLoaderSimple", {{"ckpt_name", text(kModel)}})) {}

  Value lora_hook(const char* file, double model, double clip, const Value& previous = {}) {
    NodeBench::Values in = {{"lora_name", text(file)}, {"strength_model", Value::number(model)}, {"strength_clip", Value::number(clip)}};
    if (!previous.is_none()) in.emplace_back("prev_hooks", previous);
    return bench_.run("CreateHookLora", in)[0];
  }
  Value keyframe(double strength, double start, const Value& previous = {}) {
    NodeBench::Values in = {{"strength_mult", Value::number(strength)}, {"start_percent", Value::number(start)}};
    if (!previous.is_none()) in.emplace_back("prev_hook_kf", previous);
    return bench_.run("CreateHookKeyframe", in)[0];
  }
  // The hook at full strength, then not at all.
  Value fading(const Value& hooks, double end) {
    return bench_.run("SetHookKeyframes", {{"hooks", hooks}, {"hook_kf", keyframe(0, end, keyframe(1, 0))}})[0];
  }
  static const HookGroup& group(const Value& hooks) { return hooks.get<HookGroup>(); }

  const ModelValue& model() const { return loaded_[0].get<ModelValue>(); }
  const ClipValue& clip() const { return loaded_[1].get<ClipValue>(); }
  LoraResult with_lora(const char* file, double model_strength, double clip_strength) {
    return apply_lora(&model(), &clip(), bench_.store->lora(file), {model_strength, clip_strength});
  }

  // One call of the network, the way a run makes it.
  std::vector<float> call(const sampling::Network& network, double percent, const HookGroup* hooks) const {
    const auto& sampling = *model().patcher.get_model_object<sampling::ModelSampling>(kModelSampling);
    sampling::NetworkInput input;
    input.x = Tensor::empty(Shape{1, 4, 6, 8}, DType::f32);
    for (int64_t i = 0; i < input.x.num_elements(); ++i) input.x.mutable_data<float>()[i] = std::sin(static_cast<float>(i));
    input.sigmas = {static_cast<float>(percent <= 0 ? sampling.sigma_max() : sampling.percent_to_sigma(percent))};
    input.timesteps = {sampling.timestep(input.sigmas[0])};
    input.context = Tensor::empty(Shape{1, 77, model().network->config().context_dim}, DType::f32);
    for (int64_t i = 0; i < input.context.num_elements(); ++i) input.context.mutable_data<float>()[i] = std::cos(static_cast<float>(i));
    input.cond_or_uncond = {0};
    input.hooks = hooks;
    return floats_of(network(input));
  }
  sampling::Network network(const ModelValue& of) {
    return make_network(of, bench_.environment.get<ComputeSettings>(), CancelToken(), [this](const std::string& r) { remarks_.push_back(r); });
  }

  Conditioning encode(const Value& clip_value, const char* prompt = "a yellow moon at night") {
    return bench_.run("CLIPTextEncode", {{"clip", clip_value}, {"text", text(prompt)}})[0].get<Conditioning>();
  }
  Value set_clip_hooks(const Value& hooks, bool to_conds, bool schedule) {
    return bench_.run(
        "SetClipHooks",
        {{"clip", loaded_[1]}, {"apply_to_conds", Value::boolean(to_conds)}, {"schedule_clip", Value::boolean(schedule)}, {"hooks", hooks}})[0];
  }

  // A file in loras/ whose only layer has this name.
  std::string lora_with_layer(const std::string& layer) {
    formats::write_safetensors(bench_.root() / "models/loras/mine.safetensors",
                               std::vector<std::pair<std::string, Tensor>>{{layer + ".lora_up.weight", Tensor::zeros({8, 4}, DType::f32)},
                                                                           {layer + ".lora_down.weight", Tensor::zeros({4, 8}, DType::f32)}});
    return "mine.safetensors";
  }

  NodeBench bench_;
  std::vector<Value> loaded_;
  std::vector<std::string> remarks_;
};

class HookNodesInAllModes : public HookNodes {
 protected:
  HookNodesInAllModes() : HookNodes(GetParam()) {}
};
INSTANTIATE_TEST_SUITE_P(Modes, HookNodesInAllModes,
                         ::testing::Values(LoraApplyMode::automatic, LoraApplyMode::materialised, LoraApplyMode::branch, LoraApplyMode::on_demand),
                         [](const auto& param) {
                           return param.param == LoraApplyMode::on_demand ? "on_demand" : std::string(to_string(param.param));
                         });

TEST_P(HookNodesInAllModes, AConstantHookIsTheLoadersAdapterToTheBit) {
  const Value hooks = lora_hook(kNight, 0.7, 0.4);
  const LoraResult lora = with_lora(kNight, 0.7, 0.4);
  EXPECT_EQ(call(network(model()), 0.3, &group(hooks)), call(network(*lora.model), 0.3, nullptr));
  EXPECT_NE(call(network(model()), 0.3, &group(hooks)), call(network(model()), 0.3, nullptr));
  EXPECT_EQ(floats_of(encode(set_clip_hooks(hooks, true, false))[0].context), floats_of(encode(Value::of("CLIP", *lora.clip))[0].context));
}

TEST_P(HookNodesInAllModes, AFadingHookIsTheAdapterBeforeAndTheBaseAfter) {
  const Value hooks = fading(lora_hook(kNight, 0.7, 1), 0.5);
  const auto hooked = network(model());
  const auto before = call(hooked, 0.2, &group(hooks));
  const auto after = call(hooked, 0.7, &group(hooks));
  const auto wanted = call(network(*with_lora(kNight, 0.7, 1).model), 0.2, nullptr);
  if (GetParam() == LoraApplyMode::automatic) {
    EXPECT_THAT(before, Pointwise(FloatNear(1e-4F), wanted));  // the side branch against patched weights
  } else {
    EXPECT_EQ(before, wanted);
  }
  EXPECT_EQ(after, call(network(model()), 0.7, nullptr));
}

TEST_P(HookNodesInAllModes, HooksOnAVariantLieOnTopOfItsAdapters) {
  const LoraResult fixed = with_lora(kOutline, 0.6, 1);
  const Value hooks = lora_hook(kNight, 0.7, 1);
  ModelValue both = *fixed.model;
  both.patcher = both.patcher.clone();
  both = *apply_lora(&both, nullptr, bench_.store->lora(kNight), {0.7, 0}).model;
  EXPECT_EQ(call(network(*fixed.model), 0.3, &group(hooks)), call(network(both), 0.3, nullptr));
}

TEST_F(HookNodes, DifferentHooksInOneRunAreAsInRunsOfTheirOwn) {
  const Value night = fading(lora_hook(kNight, 1, 1), 0.5);
  const Value outline = fading(lora_hook(kOutline, 0.8, 1), 0.3);
  const auto both = network(model());
  const auto only_night = network(model());
  const auto only_outline = network(model());
  for (const double percent : {0.0, 0.25, 0.4, 0.6}) {
    EXPECT_EQ(call(both, percent, &group(night)), call(only_night, percent, &group(night))) << percent;
    EXPECT_EQ(call(both, percent, &group(outline)), call(only_outline, percent, &group(outline))) << percent;
    EXPECT_EQ(call(both, percent, nullptr), call(network(model()), percent, nullptr)) << percent;
  }
}

TEST_F(HookNodes, LeaveTheModelAndItsBaseAsTheyWere) {
  const Fingerprint variant = model().patcher.fingerprint();
  FingerprintBuilder bits;
  for (const auto& [key, weight] : model().patcher.model()->weights()) bits.add_bytes(weight.byte_span());
  const auto before = call(network(model()), 0.3, nullptr);
  call(network(model()), 0.3, &group(fading(lora_hook(kNight, 10, 10), 0.5)));
  EXPECT_EQ(model().patcher.fingerprint(), variant);
  FingerprintBuilder after;
  for (const auto& [key, weight] : model().patcher.model()->weights()) after.add_bytes(weight.byte_span());
  EXPECT_EQ(after.finish(), bits.finish());
  EXPECT_EQ(call(network(model()), 0.3, nullptr), before);
}

TEST_F(HookNodes, AppendToThePreviousHooksInOrder) {
  const Value first = lora_hook(kNight, 1, 0.5);
  const Value both = lora_hook(kOutline, 0.3, 0, first);
  ASSERT_THAT(group(both).hooks(), SizeIs(2));
  EXPECT_EQ(group(both).hooks()[0].strength_clip, 0.5);
  EXPECT_EQ(group(both).hooks()[1].strength_model, 0.3);
  EXPECT_THAT(group(first).hooks(), SizeIs(1));
}

TEST_F(HookNodes, OfStrengthZeroAddNothing) {
  EXPECT_THAT(group(lora_hook(kNight, 0, 0)).hooks(), SizeIs(0));
  EXPECT_THAT(group(lora_hook(kOutline, 0, 0, lora_hook(kNight, 1, 1))).hooks(), SizeIs(1));
  EXPECT_EQ(call(network(model()), 0.3, &group(lora_hook(kNight, 0, 0))), call(network(model()), 0.3, nullptr));
}

TEST_F(HookNodes, ForTheModelOnlyHaveNoStrengthOnTheEncoder) {
  const Value hooks = bench_.run("CreateHookLoraModelOnly", {{"lora_name", text(kNight)}, {"strength_model", Value::number(0.5)}})[0];
  EXPECT_EQ(group(hooks).hooks().at(0).strength_model, 0.5);
  EXPECT_EQ(group(hooks).hooks().at(0).strength_clip, 0);
}

TEST_F(HookNodes, CombineWhatIsThere) {
  EXPECT_TRUE(bench_.run("CombineHooks2", {})[0].is_none());
  const Value night = lora_hook(kNight, 1, 1);
  const Value outline = lora_hook(kOutline, 1, 1);
  EXPECT_EQ(&group(bench_.run("CombineHooks4", {{"hooks_C", night}})[0]), &group(night));
  const Value all = bench_.run("CombineHooks8", {{"hooks_H", night}, {"hooks_B", outline}, {"hooks_E", night}})[0];
  EXPECT_THAT(group(all).hooks(), SizeIs(2));
  EXPECT_EQ(group(all).hooks()[0].weights, group(outline).hooks()[0].weights);
}

TEST_F(HookNodes, RefuseStrengthsThatAreNoNumbers) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(bench_.error_of("CreateHookLora", {{"lora_name", text(kNight)}, {"strength_model", Value::number(bad)}}).code(), ErrorCode::invalid);
    EXPECT_EQ(bench_.error_of("CreateHookKeyframe", {{"strength_mult", Value::number(bad)}}).code(), ErrorCode::invalid);
    EXPECT_EQ(bench_.error_of("CreateHookKeyframe", {{"start_percent", Value::number(bad)}}).code(), ErrorCode::invalid);
  }
}

TEST_F(HookNodes, NameTheFileThatIsMissing) {
  const Error error = bench_.error_of("CreateHookLora", {{"lora_name", text("nowhere.safetensors")}});
  EXPECT_EQ(error.code(), ErrorCode::not_found);
  EXPECT_EQ(error.find("input"), "lora_name");
  EXPECT_EQ(bench_.error_of("CreateHookModelAsLora", {{"ckpt_name", text("nowhere.safetensors")}}).find("input"), "ckpt_name");
}

TEST_F(HookNodes, OfAnotherArchitectureAreAnErrorThatNamesBoth) {
  const Value hooks = lora_hook(lora_with_layer("lora_unet_double_blocks_0_img_attn_qkv").c_str(), 1, 1);
  try {
    call(network(model()), 0.3, &group(hooks));
    FAIL() << "took an adapter for another model";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid);
    EXPECT_THAT(std::string(error.find("file")), HasSubstr("mine.safetensors"));
    EXPECT_EQ(error.find("file architecture"), "flux");
    EXPECT_THAT(std::string(error.find("model architecture")), HasSubstr("sd1"));
  }
  // It has nothing for a text encoder, so a prompt under it is as it was.
  EXPECT_EQ(floats_of(encode(set_clip_hooks(hooks, false, false))[0].context), floats_of(encode(loaded_[1])[0].context));
}

TEST_F(HookNodes, OfTheTextEncoderAloneLeaveTheModel) {
  const Value hooks = lora_hook(lora_with_layer("lora_te_no_such_layer").c_str(), 1, 1);
  EXPECT_EQ(call(network(model()), 0.3, &group(hooks)), call(network(model()), 0.3, nullptr));
  EXPECT_THROW(encode(set_clip_hooks(hooks, false, false)), Error);
}

// As a loader that has no text encoder says.
TEST_F(HookNodes, OfTheTextEncoderAloneAreAnErrorWhereTheHookActsOnTheModelOnly) {
  const std::string file = lora_with_layer("lora_te_no_such_layer");
  for (const Value& hooks : {bench_.run("CreateHookLoraModelOnly", {{"lora_name", text(file.c_str())}, {"strength_model", Value::number(1)}})[0],
                             lora_hook(file.c_str(), 1, 0)}) {
    try {
      call(network(model()), 0.3, &group(hooks));
      FAIL() << "drew without the adapter";
    } catch (const Error& error) {
      EXPECT_EQ(error.text(), "lora: no layer of the file matches the model");
      EXPECT_THAT(std::string(error.find("file")), HasSubstr("mine.safetensors"));
      EXPECT_THAT(std::string(error.find("model architecture")), HasSubstr("sd1"));
    }
  }
}

TEST_F(HookNodes, AFileWithoutTensorsIsAnErrorOnTheModelAndOnTheTextEncoder) {
  formats::write_safetensors(bench_.root() / "models/loras/empty.safetensors", std::vector<std::pair<std::string, Tensor>>{});
  const Value hooks = lora_hook("empty.safetensors", 1, 1);
  const auto expect_error = [](const std::function<void()>& work, const char* architecture) {
    try {
      work();
      FAIL() << "took a file of nothing";
    } catch (const Error& error) {
      EXPECT_EQ(error.text(), "lora: no layer of the file matches the model");
      EXPECT_THAT(std::string(error.find("file")), HasSubstr("empty.safetensors"));
      EXPECT_EQ(error.find("file architecture"), "unknown");
      EXPECT_THAT(std::string(error.find("model architecture")), HasSubstr(architecture));
    }
  };
  expect_error([&] { call(network(model()), 0.3, &group(hooks)); }, "sd1");
  expect_error([&] { encode(set_clip_hooks(hooks, false, false)); }, "clip");
}

TEST_F(HookNodes, TellWhatFitsNothing) {
  const auto whole = bench_.store->lora(kNight);
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& entry : whole.entries()) tensors.emplace_back(entry.name, whole.tensor(entry.name));
  tensors.emplace_back("lora_unet_odd.lora_up.weight", Tensor::zeros({8, 4}, DType::f32));
  tensors.emplace_back("lora_unet_odd.lora_down.weight", Tensor::zeros({4, 8}, DType::f32));
  formats::write_safetensors(bench_.root() / "models/loras/more.safetensors", tensors);
  const Value hooks = lora_hook("more.safetensors", 1, 1);
  const auto hooked = network(model());
  call(hooked, 0.3, &group(hooks));
  call(hooked, 0.4, &group(hooks));
  EXPECT_THAT(remarks_, ElementsAre(HasSubstr("lora_unet_odd")));
}

TEST_F(HookNodes, SetOnTheEncoderGoOnToPromptsWhenAsked) {
  const Value hooks = fading(lora_hook(kNight, 1, 1), 0.5);
  EXPECT_EQ(encode(set_clip_hooks(hooks, true, false))[0].hooks.get(), &group(hooks));
  EXPECT_EQ(encode(set_clip_hooks(hooks, false, false))[0].hooks, nullptr);
  EXPECT_EQ(encode(bench_.run("SetClipHooks", {{"clip", loaded_[1]}})[0])[0].hooks, nullptr);
}

TEST_F(HookNodes, WithoutScheduleTheEncoderTakesTheHooksOwnStrength) {
  const Value hooks = bench_.run("SetHookKeyframes", {{"hooks", lora_hook(kNight, 1, 0.6)}, {"hook_kf", keyframe(0.1, 0)}})[0];
  const Conditioning encoded = encode(set_clip_hooks(hooks, true, false));
  ASSERT_THAT(encoded, SizeIs(1));
  EXPECT_EQ(floats_of(encoded[0].context), floats_of(encode(Value::of("CLIP", *with_lora(kNight, 1, 0.6).clip))[0].context));
}

TEST_F(HookNodes, WithAScheduleThePromptIsEncodedForEachPart) {
  const Value hooks = fading(lora_hook(kNight, 1, 0.6), 0.5);
  const Conditioning encoded = encode(set_clip_hooks(hooks, true, true));
  ASSERT_THAT(encoded, SizeIs(2));
  EXPECT_EQ(encoded[0].clip_start_percent, 0);
  EXPECT_EQ(encoded[0].clip_end_percent, 0.5);
  EXPECT_EQ(encoded[1].clip_start_percent, 0.5);
  EXPECT_EQ(encoded[1].clip_end_percent, 1);
  EXPECT_EQ(floats_of(encoded[0].context), floats_of(encode(Value::of("CLIP", *with_lora(kNight, 1, 0.6).clip))[0].context));
  EXPECT_EQ(floats_of(encoded[1].context), floats_of(encode(loaded_[1])[0].context));
  EXPECT_EQ(encoded[0].hooks, encoded[1].hooks);
}

TEST_F(HookNodes, PartsWithOneEncodingAreOneEntry) {
  EXPECT_THAT(encode(set_clip_hooks(fading(lora_hook(kNight, 1, 0), 0.5), true, true)), SizeIs(1));
}

TEST_F(HookNodes, TheEndOfAScheduleIsInThePromptsFingerprint) {
  const auto of = [&](double end) { return sampling::fingerprint(encode(set_clip_hooks(fading(lora_hook(kNight, 1, 1), end), true, true))); };
  EXPECT_EQ(of(0.5), of(0.5));
  EXPECT_NE(of(0.5), of(0.6));
}

// A checkpoint's weights as a hook.
class CheckpointHooks : public HookNodes {
 protected:
  // The demo checkpoint with other weights of the diffusion model's attention.
  std::string changed_checkpoint() {
    const auto whole = formats::ModelFile::open(NodeBench::demo() / "checkpoints" / kModel);
    std::vector<std::pair<std::string, Tensor>> tensors;
    for (const auto& entry : whole.entries()) {
      Tensor tensor = whole.tensor(entry.name);
      if (entry.name.find("attn2.to_k.weight") != std::string::npos) tensor = Tensor::zeros(tensor.shape(), tensor.dtype());
      tensors.emplace_back(entry.name, tensor);
    }
    formats::write_safetensors(bench_.root() / "models/checkpoints/changed.safetensors", tensors);
    return "changed.safetensors";
  }
  Value hook(const std::string& file, double strength) {
    return bench_.run("CreateHookModelAsLoraModelOnly", {{"ckpt_name", text(file)}, {"strength_model", Value::number(strength)}})[0];
  }
};

TEST_F(CheckpointHooks, AtFullStrengthAreTheOtherModel) {
  const std::string file = changed_checkpoint();
  const std::vector<Value> other = bench_.run("CheckpointLoaderSimple", {{"ckpt_name", text(file)}});
  const auto wanted = call(network(other[0].get<ModelValue>()), 0.3, nullptr);
  EXPECT_THAT(call(network(model()), 0.3, &group(hook(file, 1))), Pointwise(FloatNear(1e-4F), wanted));
  EXPECT_NE(call(network(model()), 0.3, nullptr), wanted);
}

TEST_F(CheckpointHooks, OfTheModelItselfChangeNothing) {
  EXPECT_EQ(call(network(model()), 0.3, &group(hook(kModel, 0.5))), call(network(model()), 0.3, nullptr));
}

TEST_F(CheckpointHooks, TakeBothParts) {
  const Value hooks = bench_.run("CreateHookModelAsLora", {{"ckpt_name", text(kModel)}, {"strength_clip", Value::number(0.25)}})[0];
  EXPECT_EQ(group(hooks).hooks().at(0).strength_clip, 0.25);
  EXPECT_EQ(floats_of(encode(set_clip_hooks(hooks, true, false))[0].context), floats_of(encode(loaded_[1])[0].context));
}

TEST_F(CheckpointHooks, OfAnotherArchitectureAreRefused) {
  variant::ModuleTable table;
  table.add({.name = "a", .kind = variant::ModuleKind::linear, .has_bias = false});
  const auto toy = variant::BaseModel::create("toy", std::move(table), {{"a.weight", Tensor::zeros({2, 2}, DType::f32)}}, "toy.safetensors");
  ModelStore::Checkpoint checkpoint;
  checkpoint.model = model();
  checkpoint.model->patcher = variant::ModelPatcher(toy, std::make_shared<residency::ResidentSet>(), DType::f32);
  const HookGroup hooks({{checkpoint_hook_weights(checkpoint, "toy.safetensors"), 1, 0}});
  try {
    call(network(model()), 0.3, &hooks);
    FAIL() << "took a checkpoint of another architecture";
  } catch (const Error& error) {
    EXPECT_EQ(error.find("file"), "toy.safetensors");
    EXPECT_EQ(error.find("file architecture"), "toy");
    EXPECT_THAT(std::string(error.find("model architecture")), HasSubstr("sd1"));
  }
}

TEST_F(CheckpointHooks, OfAnotherWidthAreRefusedAndWhatTheyLackStays) {
  const auto toy = [](const Shape& a) {
    variant::ModuleTable table;
    table.add({.name = "a", .kind = variant::ModuleKind::linear, .has_bias = false});
    std::map<std::string, Tensor, std::less<>> weights;
    weights["a.weight"] = Tensor::zeros(a, DType::f32);
    if (a[0] == 2) weights["more.weight"] = Tensor::zeros({1}, DType::f32);
    return variant::BaseModel::create("toy", std::move(table), std::move(weights), "toy.safetensors");
  };
  const auto weights_of = [&](const std::shared_ptr<const variant::BaseModel>& base) {
    ModelStore::Checkpoint checkpoint;
    checkpoint.model = model();
    checkpoint.model->patcher = variant::ModelPatcher(base, std::make_shared<residency::ResidentSet>(), DType::f32);
    return checkpoint_hook_weights(checkpoint, "other.safetensors");
  };
  const auto base = toy({2, 2});
  EXPECT_THROW(weights_of(toy({3, 2}))->patches({variant::HookTarget::diffusion_model, base}), Error);
  EXPECT_THAT(weights_of(toy({2, 2}))->patches({variant::HookTarget::diffusion_model, base}).values, SizeIs(2));
  EXPECT_THAT(weights_of(base)->patches({variant::HookTarget::text_encoder, base}).values, SizeIs(0));
}

}  // namespace
}  // namespace veneer::nodes

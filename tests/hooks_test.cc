// Adapters whose strength changes while sampling, from the workflow to the pixels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "formats/safetensors.h"
#include "formats/testing/temp_directory.h"
#include "graph/json.h"
#include "support/test_paths.h"
#include "veneer/engine.h"

namespace veneer::testing {
namespace {

using graph::Json;

Json node(const char* class_type, Json inputs) { return {{"class_type", class_type}, {"inputs", std::move(inputs)}}; }
Json link(const char* id, int slot = 0) { return Json::array({id, slot}); }

// Seven steps, so that one lies between 0.5 and 0.6 of the run.
Json sampling_nodes(const Json& model, const Json& positive, const Json& negative) {
  Json out;
  out["latent"] = node("EmptyLatentImage", {{"width", 64}, {"height", 48}, {"batch_size", 1}});
  out["sample"] = node("KSampler", {{"model", model},
                                    {"seed", 7},
                                    {"steps", 7},
                                    {"cfg", 5.0},
                                    {"sampler_name", "euler"},
                                    {"scheduler", "normal"},
                                    {"positive", positive},
                                    {"negative", negative},
                                    {"latent_image", link("latent")},
                                    {"denoise", 1.0}});
  out["decode"] = node("VAEDecode", {{"samples", link("sample")}, {"vae", link("base", 2)}});
  out["save"] = node("SaveImage", {{"images", link("decode")}, {"filename_prefix", "hooks"}});
  return out;
}

Json lora_inputs(const char* file, double strength) { return {{"lora_name", file}, {"strength_model", strength}, {"strength_clip", strength}}; }

// "style-outline" throughout as a loader's adapter, and "style-night" as a hook at full strength until `end`, on model and text encoder.
Json fixed_and_scheduled(double end) {
  Json out = sampling_nodes(link("fixed"), link("positive"), link("negative"));
  out["base"] = node("CheckpointLoaderSimple", {{"ckpt_name", "shapes-sd-tiny.safetensors"}});
  Json fixed = lora_inputs("style-outline.safetensors", 0.7);
  fixed["model"] = link("base", 0);
  fixed["clip"] = link("base", 1);
  out["fixed"] = node("LoraLoader", std::move(fixed));
  out["hook"] = node("CreateHookLora", lora_inputs("style-night.safetensors", 0.9));
  out["on"] = node("CreateHookKeyframe", {{"strength_mult", 1.0}, {"start_percent", 0.0}});
  out["off"] = node("CreateHookKeyframe", {{"strength_mult", 0.0}, {"start_percent", end}, {"prev_hook_kf", link("on")}});
  out["hooks"] = node("SetHookKeyframes", {{"hooks", link("hook")}, {"hook_kf", link("off")}});
  out["clip"] = node("SetClipHooks", {{"clip", link("fixed", 1)}, {"apply_to_conds", true}, {"schedule_clip", true}, {"hooks", link("hooks")}});
  out["positive"] = node("CLIPTextEncode", {{"clip", link("clip")}, {"text", "a yellow moon at night"}});
  out["negative"] = node("CLIPTextEncode", {{"clip", link("clip")}, {"text", ""}});
  return out;
}

class Hooks : public ::testing::Test {
 protected:
  EngineOptions options(const char* mode, const char* residency = "classic", uint64_t memory_budget = 0) const {
    EngineOptions out;
    out.model_folders = {demo_models().string()};
    out.output_folder = (folder_.path() / "output").string();
    out.temp_folder = (folder_.path() / "temp").string();
    out.dtype = "f32";
    out.lora_apply_mode = mode;
    out.residency = residency;
    out.memory_budget = memory_budget;
    return out;
  }

  static std::vector<uint8_t> draw(Engine& engine, const Json& workflow) {
    JobOptions job;
    job.keep_pixels = true;
    bool sampled = false;
    job.on_progress = [&](const ProgressEvent& event) { sampled = sampled || event.kind == ProgressEvent::Kind::step; };
    const JobResult result = engine.run_workflow(workflow.dump(), job);
    EXPECT_TRUE(sampled) << "the picture came out of the cache";
    return result.images.at(0).pixels.pixels;
  }

  // Bytes of the text encoder when all of it is ready to run.
  uint64_t encoder_bytes() const {
    Engine engine(options("materialised"));
    draw(engine, fixed_and_scheduled(0.5));
    uint64_t sum = 0;
    for (const MemoryEntry& entry : engine.memory().entries) {
      if (entry.name.find("clip_l.") != std::string::npos) sum += entry.bytes;
    }
    return sum;
  }

  formats::TempDirectory folder_;
};

TEST_F(Hooks, ChangingOnlyTheEndOfAScheduleIsAsInAFreshEngine) {
  const uint64_t budget = encoder_bytes() * 6 / 10;
  ASSERT_GT(budget, 100'000U);
  for (const char* mode : {"auto", "materialised", "branch", "on-demand"}) {
    for (const char* residency : {"classic", "dynamic"}) {
      SCOPED_TRACE(std::string(mode) + " " + residency);
      Engine used(options(mode, residency, budget));
      const auto before = draw(used, fixed_and_scheduled(0.5));
      const auto after = draw(used, fixed_and_scheduled(0.6));
      Engine fresh(options(mode, residency, budget));
      EXPECT_EQ(draw(fresh, fixed_and_scheduled(0.6)), after);
      EXPECT_NE(before, after);
      EXPECT_EQ(draw(used, fixed_and_scheduled(0.5)), before);
    }
  }
}

TEST_F(Hooks, AHookOfConstantStrengthDrawsWhatTheLoaderDraws) {
  Json hooked = sampling_nodes(link("base"), link("pair", 0), link("pair", 1));
  hooked["base"] = node("CheckpointLoaderSimple", {{"ckpt_name", "shapes-sd-tiny.safetensors"}});
  hooked["hook"] = node("CreateHookLora", lora_inputs("style-night.safetensors", 0.8));
  hooked["clip"] = node("SetClipHooks", {{"clip", link("base", 1)}, {"apply_to_conds", false}, {"schedule_clip", false}, {"hooks", link("hook")}});
  hooked["positive"] = node("CLIPTextEncode", {{"clip", link("clip")}, {"text", "a yellow moon at night"}});
  hooked["negative"] = node("CLIPTextEncode", {{"clip", link("clip")}, {"text", ""}});
  hooked["pair"] = node("PairConditioningSetProperties", {{"positive_NEW", link("positive")},
                                                          {"negative_NEW", link("negative")},
                                                          {"strength", 1.0},
                                                          {"set_cond_area", "default"},
                                                          {"hooks", link("hook")}});
  Json loaded = sampling_nodes(link("lora"), link("positive"), link("negative"));
  loaded["base"] = hooked["base"];
  Json lora = lora_inputs("style-night.safetensors", 0.8);
  lora["model"] = link("base", 0);
  lora["clip"] = link("base", 1);
  loaded["lora"] = node("LoraLoader", std::move(lora));
  loaded["positive"] = node("CLIPTextEncode", {{"clip", link("lora", 1)}, {"text", "a yellow moon at night"}});
  loaded["negative"] = node("CLIPTextEncode", {{"clip", link("lora", 1)}, {"text", ""}});
  for (const char* mode : {"auto", "materialised"}) {
    Engine engine(options(mode));
    EXPECT_EQ(draw(engine, hooked), draw(engine, loaded)) << mode;
  }
}

TEST_F(Hooks, ForAnotherModelAreAnErrorThatNamesTheFileAndTheSampler) {
  std::filesystem::create_directories(folder_.path() / "models/loras");
  formats::write_safetensors(
      folder_.path() / "models/loras/flux.safetensors",
      std::vector<std::pair<std::string, Tensor>>{{"lora_unet_double_blocks_0_img_attn_qkv.lora_up.weight", Tensor::zeros({8, 4}, DType::f32)},
                                                  {"lora_unet_double_blocks_0_img_attn_qkv.lora_down.weight", Tensor::zeros({4, 8}, DType::f32)}});
  Json workflow = fixed_and_scheduled(0.5);
  workflow["hook"] = node("CreateHookLora", lora_inputs("flux.safetensors", 1));
  EngineOptions with_folder = options("auto");
  with_folder.model_folders.push_back((folder_.path() / "models").string());
  Engine engine(with_folder);
  try {
    engine.run_workflow(workflow.dump());
    FAIL() << "drew a picture without the adapter";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid);
    EXPECT_EQ(error.find("node"), "sample");
    EXPECT_THAT(std::string(error.find("file")), ::testing::HasSubstr("flux.safetensors"));
    EXPECT_EQ(error.find("file architecture"), "flux");
  }
}

}  // namespace
}  // namespace veneer::testing

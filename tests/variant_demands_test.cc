// What broke for users of other systems: one test each, with the value that is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "compute/test_data.h"
#include "patch/adapter_file.h"
#include "patch/kinds/values.h"
#include "support/random_adapters.h"
#include "support/tiny_model.h"
#include "tensor/convert.h"

namespace veneer::testing {
namespace {

using residency::PinnedMemory;
using residency::ResidentSet;
using variant::LoraApplyMode;
using variant::ModelPatcher;
using variant::ResidencyMode;
using variant::Runtime;

bool attention(std::string_view key) { return key.find("attn") != std::string_view::npos; }

size_t packed_size(const TinyModel& model) {
  const auto runtime = runtime_with(ResidentSet::kUnlimited);
  sample_latents(model, ModelPatcher(model.base, runtime, DType::f32));
  return runtime->residents->size_bytes();
}

ModelPatcher with_adapter(const ModelPatcher& patcher, const Patches& patches, double strength) {
  ModelPatcher out = patcher.clone();
  out.add_patches(patches, strength);
  return out;
}

// github.com/Comfy-Org/ComfyUI/pull/10724: the model was there already and had to shrink, so the adapter was not applied.
TEST(VariantDemands, AnAdapterAndALargerBatchAfterTheBaseInLittleMemory) {
  const TinyModel model = tiny_model();
  const Patches lora = random_adapter(*model.base, AdapterKind::lora, 1);
  const TinyRun large = {.batch = 4};
  const Tensor fresh = sample_latents(model, with_adapter({model.base, runtime_with(ResidentSet::kUnlimited), DType::f32}, lora, 1), large);
  const Tensor plain = sample_latents(model, {model.base, runtime_with(ResidentSet::kUnlimited), DType::f32}, large);
  EXPECT_FALSE(same_bits(fresh, plain));
  for (const ResidencyMode residency : {ResidencyMode::classic, ResidencyMode::dynamic}) {
    for (const bool keep_loaded : {false, true}) {
      SCOPED_TRACE(std::string(to_string(residency)) + (keep_loaded ? " loaded" : ""));
      ModelPatcher base(model.base, runtime_with(packed_size(model), LoraApplyMode::materialised, residency), DType::f32);
      if (keep_loaded) base.load();
      sample_latents(model, base);
      ModelPatcher variant = with_adapter(base, lora, 1);
      if (keep_loaded) variant.partially_load(model.base->size_bytes() / 2);
      EXPECT_TRUE(same_bits(sample_latents(model, variant, large), fresh));
      EXPECT_TRUE(same_bits(sample_latents(model, base, large), plain));
    }
  }
}

// github.com/leejet/stable-diffusion.cpp/issues/410: an adapter that was gone had left its rounding behind.
TEST(VariantDemands, TheBaseIsTheSameToTheBitAfterAnAdapterOfStrengthTen) {
  for (const DType stored : {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3fn}) {
    SCOPED_TRACE(std::string(to_string(stored)));
    const TinyModel model = tiny_model(TinySize::two_levels, stored);
    const Fingerprint content = model.base->content_fingerprint();
    ModelPatcher base(model.base, runtime_with(ResidentSet::kUnlimited), DType::f32);
    const Tensor before = sample_latents(model, base);
    ModelPatcher variant = with_adapter(base, random_adapter(*model.base, AdapterKind::lora, 1), 10);
    const auto view = variant.patch_model();
    EXPECT_FALSE(same_bits(sample_latents(model, variant), before));
    variant.unpatch_model();
    EXPECT_TRUE(same_bits(sample_latents(model, base), before));
    EXPECT_EQ(model.base->content_fingerprint(), content);
  }
}

// github.com/huggingface/diffusers/issues/5604: pictures blurred after some rounds of fusing and unfusing; the same on fp8.
TEST(VariantDemands, TwoHundredCyclesOfTwoAdaptersChangeNothing) {
  for (const DType stored : {DType::f32, DType::f8_e4m3fn}) {
    const TinyModel model = tiny_model(TinySize::one_level, stored);
    const Fingerprint content = model.base->content_fingerprint();
    const ModelPatcher base(model.base, runtime_with(ResidentSet::kUnlimited), DType::f32);
    const std::array adapters = {random_adapter(*model.base, AdapterKind::lora, 1), random_adapter(*model.base, AdapterKind::loha, 2)};
    const TinyRun run = {.steps = 1, .cfg = 1};
    const Tensor plain = sample_latents(model, base, run);
    std::array<Tensor, 2> both;
    for (size_t cycle = 0; cycle < 200; ++cycle) {
      ModelPatcher a = with_adapter(base, adapters[cycle % 2], 0.7);
      a.load();
      ModelPatcher b = with_adapter(a, adapters[1 - cycle % 2], 0.7);
      b.load();
      const Tensor latents = sample_latents(model, b, run);
      if (cycle < 2) both[cycle] = latents;
      ASSERT_TRUE(same_bits(latents, both[cycle % 2]));
      // In the order in which they came, which is the wrong one, and the other way round.
      (cycle % 3 == 0 ? a : b).detach();
      (cycle % 3 == 0 ? b : a).detach();
      if (cycle % 20 == 0) {
        ASSERT_EQ(model.base->content_fingerprint(), content);
      }
    }
    EXPECT_EQ(model.base->content_fingerprint(), content);
    EXPECT_TRUE(same_bits(sample_latents(model, base, run), plain));
  }
}

// github.com/hako-mikan/sd-webui-lora-block-weight/issues/30: weights per block changed, and the cache knew the overall one only.
TEST(VariantDemands, StrengthsPerBlockArePartOfTheVariant) {
  const TinyModel model = tiny_model();
  const ModelPatcher base(model.base, runtime_with(ResidentSet::kUnlimited), DType::f32);
  const Patches lora = random_adapter(*model.base, AdapterKind::lora, 1);
  const auto by_blocks = [&](double input, double rest) {
    ModelPatcher out = base.clone();
    for (const auto& [key, value] : lora) out.add_patches({{key, value}}, key.find("input_blocks") != std::string::npos ? input : rest);
    return out;
  };
  const Tensor ones = sample_latents(model, by_blocks(1, 1));
  EXPECT_TRUE(same_bits(sample_latents(model, by_blocks(0, 0)), sample_latents(model, base)));
  EXPECT_FALSE(same_bits(sample_latents(model, by_blocks(0.99, 1)), ones));
  EXPECT_TRUE(same_bits(sample_latents(model, by_blocks(1, 1)), ones));
}

// github.com/Comfy-Org/ComfyUI/issues/5714: another strength, and all of the model was moved again.
TEST(VariantDemands, AnotherStrengthMakesNoModuleOfTheBaseAgain) {
  const TinyModel model = tiny_model();
  const Patches lora = random_adapter(*model.base, AdapterKind::lora, 1, attention);
  size_t patched = 0;
  for (const auto& [key, value] : lora) patched += model.base->weight(key).size_bytes();
  ASSERT_LT(patched, model.base->size_bytes() / 4);
  for (const LoraApplyMode mode : {LoraApplyMode::materialised, LoraApplyMode::branch}) {
    for (const bool loaded : {false, true}) {
      SCOPED_TRACE(std::string(to_string(mode)) + (loaded ? " loaded" : ""));
      const ModelPatcher base(model.base, runtime_with(ResidentSet::kUnlimited, mode), DType::f32);
      const ResidentSet& residents = *base.runtime().residents;
      ModelPatcher first = with_adapter(base, lora, 1);
      if (loaded) first.load();
      sample_latents(model, first);
      const size_t builds = residents.num_builds(), bytes = residents.built_bytes();
      ModelPatcher second = with_adapter(base, lora, 0.5);
      if (loaded) second.load();
      sample_latents(model, second);
      // Side branches have their strength outside.
      EXPECT_EQ(residents.num_builds() - builds, mode == LoraApplyMode::branch ? 0U : lora.size());
      EXPECT_LE(residents.built_bytes() - bytes, mode == LoraApplyMode::branch ? 0U : 4 * patched);
      // And back: everything is still there.
      const size_t built = residents.num_builds();
      sample_latents(model, first);
      sample_latents(model, base);
      EXPECT_LE(residents.num_builds() - built, mode == LoraApplyMode::branch ? 0U : lora.size());  // the base's own, met for the first time
    }
  }
}

// A layer alone, 2 -> 2 or a 3x3 convolution.
ModelPatcher layer_with(const Tensor& weight, const patch::AdapterTensors& file, double strength, variant::ModuleKind kind) {
  variant::ModuleTable table;
  table.add({.name = "layer", .kind = kind, .has_bias = false, .geometry = compute::ConvGeometry::same3x3()});
  const auto base = variant::BaseModel::create("toy", std::move(table), {{"layer.weight", weight}}, "toy.safetensors");
  ModelPatcher out(base, runtime_with(ResidentSet::kUnlimited), DType::f32);
  patch::KeyMap map;
  map.add("layer", "layer.weight");
  EXPECT_EQ(out.add_patches(patch::load_adapter(file, map, {}).patches, strength).size(), 1U);
  return out;
}

Tensor values(const Shape& shape, std::vector<float> list) { return Tensor::from(shape, list); }

// github.com/Comfy-Org/ComfyUI/pull/3922 and /pull/15458: where alpha and strength stand, and of what the norm is. As the layer computes.
TEST(VariantDemands, ADoraGivesTheRowsOfItsDefinition) {
  const Tensor identity = values({2, 2}, {1, 0, 0, 1});
  patch::AdapterTensors file = {{"layer.lora_up.weight", values({2, 1}, {1, 0})},
                                {"layer.lora_down.weight", values({1, 2}, {1, 1})},
                                {"layer.alpha", values({1}, {0.5F})},
                                {"layer.dora_scale", values({2, 1}, {1, 1})}};
  const auto rows = [&](double strength) {
    const auto view = layer_with(identity, file, strength, variant::ModuleKind::linear).open_view();
    compute::Context context;
    const Tensor y = view->linear(context, 0, identity, {});  // row i: the weights of input i
    return std::array<float, 4>{y.floats()[0], y.floats()[2], y.floats()[1], y.floats()[3]};
  };
  const auto half = rows(0.5);
  EXPECT_NEAR(half[0], 0.97434F, 1e-5F);
  EXPECT_NEAR(half[1], 0.15811F, 1e-5F);
  EXPECT_EQ(half[2], 0.0F);
  EXPECT_NEAR(half[3], 1.0F, 1e-6F);
  EXPECT_EQ(rows(0), (std::array<float, 4>{1, 0, 0, 1}));
  file.find("layer.dora_scale")->second = values({1, 2}, {1, 1});  // per input: the columns of W + dW are [1.5, 0] and [0.5, 1]
  const auto columns = rows(1);
  EXPECT_NEAR(columns[0], 1.0F, 1e-6F);
  EXPECT_NEAR(columns[1], 0.5F / std::sqrt(1.25F), 1e-6F);
  EXPECT_NEAR(columns[3], 1 / std::sqrt(1.25F), 1e-6F);
}

// The same for a convolution: each output's kernel has the norm that dora_scale says.
TEST(VariantDemands, ADoraOfAConvolutionSetsTheNormOfEachKernel) {
  const Tensor weight = compute::random_tensor({2, 2, 3, 3}, 1);
  const patch::AdapterTensors file = {{"layer.lora_up.weight", compute::random_tensor({2, 1, 1, 1}, 2)},
                                      {"layer.lora_down.weight", compute::random_tensor({1, 2, 3, 3}, 3)},
                                      {"layer.dora_scale", values({2, 1, 1, 1}, {3, 0.5F})}};
  const Tensor patched = layer_with(weight, file, 1, variant::ModuleKind::conv2d).patched_weight("layer.weight");
  for (size_t row = 0; row < 2; ++row) {
    double sum = 0;
    for (size_t i = 0; i < 18; ++i) sum += std::pow(static_cast<double>(patched.floats()[18 * row + i]), 2);
    EXPECT_NEAR(std::sqrt(sum), row == 0 ? 3 : 0.5, 1e-5);
  }
  EXPECT_TRUE(same_bits(layer_with(weight, file, 0, variant::ModuleKind::conv2d).patched_weight("layer.weight"), weight));
}

// github.com/lllyasviel/stable-diffusion-webui-forge/issues/1252: rounding to the nearest fp8 lost a small difference, or only where the layer was
// not resident.
TEST(VariantDemands, ASmallDifferenceOnAnFp8BaseIsThereWhereverTheLayerIs) {
  constexpr int64_t kSize = 64;
  variant::ModuleTable table;
  table.add({.name = "layer", .kind = variant::ModuleKind::linear, .has_bias = false});
  const Tensor ones = to_dtype(compute::random_tensor({kSize, kSize}, 1, 0, 1), DType::f8_e4m3fn);
  const auto base = variant::BaseModel::create("toy", std::move(table), {{"layer.weight", ones}}, "toy.safetensors");
  const Patches diff = {{"layer.weight", patch::make_diff(compute::random_tensor({kSize, kSize}, 1, 0, 0.05F))}};
  const Tensor x = compute::random_tensor({1, kSize}, 1, 0, 1);
  for (const size_t budget : {size_t{0}, ResidentSet::kUnlimited}) {
    for (const LoraApplyMode mode : {LoraApplyMode::materialised, LoraApplyMode::on_demand, LoraApplyMode::branch}) {
      ModelPatcher variant(base, runtime_with(budget, mode), DType::f32);
      variant.add_patches(diff, 1);
      const auto view = variant.open_view();
      compute::Context context;
      const Tensor y = view->linear(context, 0, x, {});
      for (const float sum : y.floats()) EXPECT_NEAR(sum / kSize, 1.05F, 1e-5F);
      // As a stored fp8 weight: right on average, and the same at each call.
      const Tensor stored = variant.patch_weight_to_device("layer.weight");
      ASSERT_EQ(stored.dtype(), DType::f8_e4m3fn);
      const Tensor f32 = to_dtype(stored, DType::f32);
      double mean = 0;
      for (const float value : f32.floats()) mean += static_cast<double>(value) / (kSize * kSize);
      EXPECT_NEAR(mean, 1.05, 0.005);
      EXPECT_TRUE(same_bits(variant.patch_weight_to_device("layer.weight"), stored));
    }
  }
}

// A system that locks no more than so many bytes.
struct LimitedLocker final : PinnedMemory::Locker {
  explicit LimitedLocker(size_t most) : left(most) {}
  bool lock(const void*, size_t size) override {
    if (size > left) {
      errno = ENOMEM;
      return false;
    }
    left -= size;
    return true;
  }
  void unlock(const void*, size_t size) noexcept override { left += size; }
  size_t left;
};

ModelPatcher pinning(const TinyModel& model, std::unique_ptr<PinnedMemory::Locker> locker, ResidencyMode residency) {
  Runtime runtime = *runtime_with(0, LoraApplyMode::materialised, residency);
  runtime.pinned = std::make_shared<PinnedMemory>(size_t{1} << 30, std::move(locker));
  ModelPatcher out(model.base, std::make_shared<const Runtime>(std::move(runtime)), DType::f32);
  out.add_patches(random_adapter(*model.base, AdapterKind::lora, 1), 1);
  return out;
}

// github.com/Comfy-Org/ComfyUI/issues/14126: the host's limit of pinned memory looked like a device out of memory.
TEST(VariantDemands, WherePinningIsRefusedTheRunIsTheSameAndTheNoticeNamesIt) {
  const TinyModel model = tiny_model();
  ModelPatcher plain(model.base, runtime_with(ResidentSet::kUnlimited), DType::f32);
  plain.add_patches(random_adapter(*model.base, AdapterKind::lora, 1), 1);
  const Tensor wanted = sample_latents(model, plain);
  for (const ResidencyMode residency : {ResidencyMode::classic, ResidencyMode::dynamic}) {
    for (const size_t most : {size_t{0}, size_t{400'000}, ResidentSet::kUnlimited}) {
      const ModelPatcher variant = pinning(model, std::make_unique<LimitedLocker>(most), residency);
      EXPECT_TRUE(same_bits(sample_latents(model, variant), wanted));
      const PinnedMemory& pinned = *variant.runtime().pinned;
      if (most == ResidentSet::kUnlimited) {
        EXPECT_EQ(pinned.notice(), "");
      } else {
        EXPECT_THAT(pinned.notice(), ::testing::HasSubstr("host pinned memory"));
        EXPECT_THAT(pinned.notice(), ::testing::Not(::testing::ContainsRegex("CUDA|device")));
      }
      EXPECT_EQ(pinned.size_bytes(), 0U) << "pins are left";
    }
  }
}

// The same with the system's own refusal.
TEST(VariantDemandsDeathTest, UnderRlimitMemlockTheRunIsTheSame) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [] {
    const rlimit none = {0, 0};
    if (::setrlimit(RLIMIT_MEMLOCK, &none) != 0) ::_exit(2);
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(3);  // root may lock whatever the limit
    const TinyModel model = tiny_model();
    ModelPatcher plain(model.base, runtime_with(ResidentSet::kUnlimited), DType::f32);
    plain.add_patches(random_adapter(*model.base, AdapterKind::lora, 1), 1);
    const ModelPatcher variant = pinning(model, nullptr, ResidencyMode::classic);
    if (!same_bits(sample_latents(model, variant), sample_latents(model, plain))) ::_exit(4);
    if (variant.runtime().pinned->notice().find("host pinned memory") == std::string::npos) ::_exit(5);
    ::_exit(0);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace veneer::testing

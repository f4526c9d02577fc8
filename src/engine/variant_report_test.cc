#include "engine/variant_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "engine/testing/engine_bench.h"
#include "formats/safetensors.h"

namespace veneer::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class VariantReports : public ::testing::Test {
 protected:
  using Loras = std::vector<std::pair<std::string, double>>;
  VariantReport report(const Loras& loras) const { return bench_.engine().describe({kDemoModel, loras}); }
  // Of the UNet.
  std::string fingerprint(const Loras& loras) const { return report(loras).parts.at(0).fingerprint; }

  EngineBench bench_;
};

TEST_F(VariantReports, AccountForEveryLayerOfAFileThatFits) {
  const VariantReport found = report({{"style-night", 0.8}});
  EXPECT_EQ(found.model, kDemoModel);
  ASSERT_THAT(found.parts, SizeIs(2));
  EXPECT_EQ(found.parts[0].part, "unet");
  EXPECT_EQ(found.parts[0].architecture, "sd1.unet");
  EXPECT_EQ(found.parts[1].part, "text_encoder");
  EXPECT_THAT(found.parts[0].patched_keys, SizeIs(117));
  EXPECT_THAT(found.parts[1].patched_keys, SizeIs(24));
  ASSERT_THAT(found.adapters, SizeIs(1));
  const AdapterSummary& adapter = found.adapters[0];
  EXPECT_EQ(adapter.name, "style-night.safetensors");
  EXPECT_EQ(adapter.strength, 0.8);
  EXPECT_THAT(adapter.kinds, ElementsAre(Pair("lora", 141)));
  EXPECT_THAT(adapter.matched, SizeIs(141));
  EXPECT_THAT(adapter.mismatched, IsEmpty());
  EXPECT_THAT(adapter.overridden, IsEmpty());
  EXPECT_THAT(adapter.missing_keys, IsEmpty());
  EXPECT_THAT(adapter.unused_keys, IsEmpty());
}

TEST_F(VariantReports, OfAModelAloneHaveNoPatchesAndNoAdapters) {
  const VariantReport found = report({});
  EXPECT_THAT(found.adapters, IsEmpty());
  for (const VariantPart& part : found.parts) {
    EXPECT_THAT(part.patched_keys, IsEmpty());
    EXPECT_THAT(part.fingerprint, SizeIs(32));
  }
}

TEST_F(VariantReports, SayWhatDoesNotFitAndWhy) {
  const std::string key = "lora_unet_input_blocks_3_1_transformer_blocks_0_attn2_to_k";
  EngineBench::Tensors tensors;
  EngineBench::add_layer(tensors, key, 3, 5);
  EngineBench::add_layer(tensors, "lora_unet_no_such_layer", 8, 8);
  tensors.emplace_back("lora_te_text_model_encoder_layers_0_mlp_fc1.diff", Tensor::zeros({512, 128}, DType::f32));
  tensors.emplace_back("text_encoders.clip_l.transformer.text_model.encoder.layers.0.mlp.fc1.diff", Tensor::zeros({512, 128}, DType::f32));
  bench_.write_lora("partly.safetensors", tensors);
  const AdapterSummary adapter = report({{"partly", 1}}).adapters.at(0);
  EXPECT_THAT(adapter.kinds, ElementsAre(Pair("diff", 1)));
  ASSERT_THAT(adapter.mismatched, SizeIs(1));
  EXPECT_EQ(adapter.mismatched[0].layer, key);
  EXPECT_EQ(adapter.mismatched[0].key, "diffusion_model.input_blocks.3.1.transformer_blocks.0.attn2.to_k.weight");
  EXPECT_EQ(adapter.mismatched[0].want, "[64, 128]");
  EXPECT_THAT(adapter.mismatched[0].got, HasSubstr("[3, 4]"));
  EXPECT_THAT(adapter.unused_layers, ElementsAre("lora_unet_no_such_layer"));
  EXPECT_THAT(adapter.unused_keys, ElementsAre("lora_unet_no_such_layer.lora_down.weight", "lora_unet_no_such_layer.lora_up.weight"));
  ASSERT_THAT(adapter.overridden, SizeIs(1));
  EXPECT_EQ(adapter.overridden[0].key, "clip_l.transformer.text_model.encoder.layers.0.mlp.fc1.weight");
}

TEST_F(VariantReports, FingerprintsTellStrengthsAndOrderApart) {
  const std::string plain = fingerprint({});
  const std::string night = fingerprint({{"style-night", 1}});
  const std::string both = fingerprint({{"style-night", 1}, {"style-outline", 1}});
  EXPECT_NE(night, plain);
  EXPECT_NE(both, night);
  EXPECT_NE(fingerprint({{"style-night", 0.5}}), night);
  EXPECT_NE(fingerprint({{"style-outline", 1}, {"style-night", 1}}), both);
  EXPECT_EQ(fingerprint({{"style-night.safetensors", 1}}), night);
}

TEST_F(VariantReports, FingerprintsAreOfContentAndNotOfNames) {
  namespace fs = std::filesystem;
  fs::copy_file(EngineBench::demo() / "checkpoints" / kDemoModel, bench_.checkpoint("copy.safetensors"));
  fs::copy_file(EngineBench::demo() / "loras/style-night.safetensors", bench_.root() / "loras/copy.safetensors");
  const VariantReport copy = bench_.engine().describe({"copy.safetensors", {{"copy", 1}}});
  const VariantReport original = report({{"style-night", 1}});
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(copy.parts[i].fingerprint, original.parts[i].fingerprint);
  EngineBench::Tensors tensors = EngineBench::demo_tensors();
  for (auto& [name, tensor] : tensors) {
    if (name != "model.diffusion_model.out.2.bias") continue;
    tensor = tensor.clone();
    tensor.mutable_bytes()[0] ^= std::byte{1};
  }
  formats::write_safetensors(bench_.checkpoint("copy.safetensors"), tensors);
  const VariantReport other = bench_.engine().describe({"copy.safetensors", {{"copy", 1}}});
  EXPECT_NE(other.parts[0].fingerprint, original.parts[0].fingerprint);
  EXPECT_EQ(other.parts[1].fingerprint, original.parts[1].fingerprint);
}

TEST_F(VariantReports, DependOnHowAdaptersAreRead) {
  const std::string standard = fingerprint({{"style-night", 1}});
  bench_.options.patch_compat = "reference";
  EXPECT_NE(fingerprint({{"style-night", 1}}), standard);
}

TEST_F(VariantReports, MakeNoWeightReady) {
  const Engine engine(bench_.options);
  (void)engine.describe({kDemoModel, {{"style-night", 1}}});
  EXPECT_EQ(engine.memory().peak_resident_bytes, 0U);
  EXPECT_THAT(engine.memory().entries, IsEmpty());
}

TEST_F(VariantReports, RefuseAnAdapterOfWhichNothingFits) {
  EngineBench::Tensors tensors;
  EngineBench::add_layer(tensors, "lora_unet_double_blocks_0_img_attn_qkv", 8, 8);
  bench_.write_lora("flux.safetensors", tensors);
  const Error error = error_of([&] { report({{"style-night", 1}, {"flux", 1}}); });
  EXPECT_EQ(error.code(), ErrorCode::invalid);
  EXPECT_THAT(std::string(error.find("file")), HasSubstr("flux.safetensors"));
  EXPECT_EQ(error.find("file architecture"), "flux");
  EXPECT_EQ(error.find("model architecture"), "sd1.unet");
}

TEST_F(VariantReports, RefuseStrengthsThatLoraLoaderRefuses) {
  for (const double strength : {100.5, -101.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const Error error = error_of([&] { report({{"style-night", strength}}); });
    EXPECT_EQ(error.code(), ErrorCode::invalid) << strength;
    EXPECT_EQ(error.find("allowed"), "-100 to 100");
  }
  EXPECT_NO_THROW(report({{"style-night", -100}}));
}

TEST_F(VariantReports, NameTheNearestOfAnUnknownName) {
  const Error model = error_of([&] { (void)bench_.engine().describe({"shapes-sd-tyni", {}}); });
  EXPECT_EQ(model.code(), ErrorCode::not_found);
  EXPECT_EQ(model.find("nearest"), kDemoModel);
  const Error lora = error_of([&] { report({{"style-nihgt", 1}}); });
  EXPECT_EQ(lora.code(), ErrorCode::not_found);
  EXPECT_THAT(std::string(lora.find("nearest")), HasSubstr("style-night.safetensors"));
  EXPECT_EQ(error_of([&] { report({{"", 1}}); }).code(), ErrorCode::invalid);
  EXPECT_EQ(error_of([&] { report({{"../style-night.safetensors", 1}}); }).code(), ErrorCode::invalid);
}

}  // namespace
}  // namespace veneer::engine

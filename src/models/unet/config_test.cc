#include "models/unet/config.h"

#include <gmock/gmock.h>

#include "models/testing/test_models.h"
#include "models/unet/structure.h"
#include "veneer/error.h"

namespace veneer::models {
namespace {

// Tensors of the right shapes that hold nothing: reading a configuration looks at no element.
WeightMap shapes_only(const Architecture& architecture) {
  WeightMap out;
  static const float kNothing = 0;
  for (const WeightSpec& spec : architecture.weights) {
    out.emplace(spec.key, Tensor::view(spec.shape, DType::f32, &kNothing, std::make_shared<int>(0)));
  }
  return out;
}

UnetConfig sdxl_config() {
  UnetConfig config;
  config.model_channels = 320;
  config.levels = {{320, {0, 0}, {0, 0, 0}}, {640, {2, 2}, {2, 2, 2}}, {1280, {10, 10}, {10, 10, 10}}};
  config.middle_depth = 10;
  config.context_dim = 2048;
  config.linear_projection = true;
  config.adm_channels = 2816;
  config.heads.head_dim = 64;
  return config;
}

TEST(UnetConfig, OfSd15GivesTheTensorsOfTheRealFile) {
  const Architecture architecture = build_unet_structure(sd15_unet_config()).architecture;
  std::map<std::string, Shape> table;
  int64_t parameters = 0;
  for (const WeightSpec& spec : architecture.weights) {
    EXPECT_TRUE(table.emplace(spec.key, spec.shape).second) << spec.key;
    parameters += spec.shape.num_elements();
  }
  EXPECT_EQ(table.size(), 686U);
  EXPECT_EQ(parameters, 859'520'964);
  EXPECT_EQ(table.at("diffusion_model.time_embed.0.weight"), Shape({1280, 320}));
  EXPECT_EQ(table.at("diffusion_model.input_blocks.3.0.op.weight"), Shape({320, 320, 3, 3}));
  EXPECT_EQ(table.at("diffusion_model.input_blocks.4.0.skip_connection.weight"), Shape({640, 320, 1, 1}));
  EXPECT_EQ(table.at("diffusion_model.input_blocks.7.1.transformer_blocks.0.attn2.to_k.weight"), Shape({1280, 768}));
  EXPECT_EQ(table.at("diffusion_model.middle_block.1.proj_in.weight"), Shape({1280, 1280, 1, 1}));
  EXPECT_EQ(table.at("diffusion_model.output_blocks.2.1.conv.weight"), Shape({1280, 1280, 3, 3}));
  EXPECT_EQ(table.at("diffusion_model.output_blocks.5.2.conv.weight"), Shape({1280, 1280, 3, 3}));
  EXPECT_EQ(table.at("diffusion_model.output_blocks.8.0.in_layers.2.weight"), Shape({640, 960, 3, 3}));
  EXPECT_EQ(table.at("diffusion_model.output_blocks.11.1.transformer_blocks.0.ff.net.0.proj.weight"), Shape({2560, 320}));
  EXPECT_EQ(table.at("diffusion_model.out.2.weight"), Shape({4, 320, 3, 3}));
}

TEST(UnetConfig, IsReadBackFromItsOwnShapes) {
  for (const UnetConfig& config : {sd15_unet_config(), testing::tiny_unet_config(), sdxl_config()}) {
    const Architecture architecture = build_unet_structure(config).architecture;
    EXPECT_EQ(infer_unet_config(shapes_only(architecture), config.heads, "file"), config);
  }
}

TEST(UnetConfig, OfSdxlGivesTheParametersOfTheRealFile) {
  const Architecture architecture = build_unet_structure(sdxl_config()).architecture;
  int64_t parameters = 0;
  for (const WeightSpec& spec : architecture.weights) parameters += spec.shape.num_elements();
  EXPECT_EQ(architecture.weights.size(), 1680U);
  EXPECT_EQ(parameters, 2'567'463'684);
}

TEST(UnetConfig, NamesFileAndTensorOfWhatIsMissing) {
  WeightMap weights = shapes_only(build_unet_structure(testing::tiny_unet_config()).architecture);
  weights.erase("diffusion_model.out.2.weight");
  try {
    infer_unet_config(weights, {.heads = 4}, "some.safetensors");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::corrupt);
    EXPECT_EQ(error.find("file"), "some.safetensors");
    EXPECT_EQ(error.find("tensor"), "diffusion_model.out.2.weight");
  }
}

TEST(UnetConfig, RefusesShapesOfAnotherRankOrWithoutElements) {
  const WeightMap good = shapes_only(build_unet_structure(testing::tiny_unet_config()).architecture);
  static const float kNothing = 0;
  for (const Shape& shape : {Shape(), Shape({32}), Shape({32, 4, 3}), Shape({0, 4, 3, 3}), Shape({int64_t{1} << 62, 0, 3, 3})}) {
    WeightMap weights = good;
    weights["diffusion_model.input_blocks.0.0.weight"] = Tensor::view(shape, DType::f32, &kNothing, std::make_shared<int>(0));
    EXPECT_THROW(infer_unet_config(weights, {.heads = 4}, "file"), Error) << shape.to_string();
  }
}

TEST(UnetConfig, RefusesChannelsThatDoNotDivideIntoHeads) {
  const WeightMap weights = shapes_only(build_unet_structure(testing::tiny_unet_config()).architecture);
  try {
    infer_unet_config(weights, {.heads = 7}, "file");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
  }
}

}  // namespace
}  // namespace veneer::models

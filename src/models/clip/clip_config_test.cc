#include "models/clip/clip_config.h"

#include <gmock/gmock.h>

#include <vector>

#include "models/clip/text_encoder.h"
#include "veneer/error.h"

namespace veneer::models {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Pair;

constexpr std::string_view kModel = "clip_l.transformer.text_model.";

// CLIP ViT-L/14 as in Stable Diffusion 1.5.
ClipConfig large_config() {
  return {.kind = sd1_clip_l(),
          .vocabulary = 49408,
          .positions = 77,
          .width = 768,
          .layers = 12,
          .heads = 12,
          .feed_forward = 3072,
          .text_projection = false};
}

// Tensors of the right shapes that hold nothing: reading a configuration looks at no element.
WeightMap shapes_of(const ClipConfig& config) {
  static const float kNothing = 0;
  WeightMap out;
  const ClipTextModel model(config);
  for (const WeightSpec& spec : model.architecture().weights) {
    out.emplace(spec.key, Tensor::view(spec.shape, DType::f16, &kNothing, std::make_shared<int>(0)));
  }
  return out;
}

TEST(ClipConfig, OfSd15GivesTheTensorsOfTheRealFile) {
  const ClipTextModel model(large_config());
  int64_t parameters = 0;
  for (const WeightSpec& spec : model.architecture().weights) parameters += spec.shape.num_elements();
  EXPECT_EQ(model.architecture().weights.size(), 196U);
  EXPECT_EQ(parameters, 123'060'480);
}

TEST(ClipConfig, IsReadBackFromItsOwnShapes) {
  ClipConfig tiny = large_config();
  tiny.width = 64;
  tiny.heads = 1;
  tiny.layers = 3;
  tiny.feed_forward = 200;
  tiny.text_projection = true;
  for (const ClipConfig& want : {large_config(), tiny}) {
    const ClipConfig got = infer_clip_config(want.kind, shapes_of(want), "file");
    EXPECT_EQ(got.vocabulary, want.vocabulary);
    EXPECT_EQ(got.positions, want.positions);
    EXPECT_EQ(got.width, want.width);
    EXPECT_EQ(got.layers, want.layers);
    EXPECT_EQ(got.heads, want.heads);
    EXPECT_EQ(got.feed_forward, want.feed_forward);
    EXPECT_EQ(got.text_projection, want.text_projection);
  }
}

TEST(ClipConfig, RefusesAFileWithoutLayersOrTables) {
  const WeightMap whole = shapes_of(large_config());
  for (const std::string_view name :
       {"embeddings.token_embedding.weight", "embeddings.position_embedding.weight", "encoder.layers.0.mlp.fc1.weight"}) {
    WeightMap part = whole;
    part.erase(std::string(kModel) + std::string(name));
    EXPECT_THROW(infer_clip_config(sd1_clip_l(), part, "file"), Error) << name;
  }
}

TEST(ClipConfig, RefusesAWidthThatHeadsDoNotDivide) {
  ClipConfig odd = large_config();
  odd.width = 200;
  odd.heads = 1;
  EXPECT_THROW(infer_clip_config(sd1_clip_l(), shapes_of(odd), "file"), Error);
}

TEST(ClipConfig, RefusesFewerPositionsThanAChunkHas) {
  ClipConfig small = large_config();
  small.positions = 76;
  EXPECT_THROW(infer_clip_config(sd1_clip_l(), shapes_of(small), "file"), Error);
}

TEST(ClipKeys, AreFoundUnderEveryPrefixOfTheKind) {
  for (const std::string_view prefix : sd1_clip_l().file_prefixes) {
    const std::vector<std::string> names = {std::string(prefix) + "final_layer_norm.weight", "model.diffusion_model.out.2.weight"};
    EXPECT_THAT(map_clip_keys(sd1_clip_l(), names), ElementsAre(Pair(std::string(kModel) + "final_layer_norm.weight", names[0]))) << prefix;
  }
}

TEST(ClipKeys, TakeTheFirstPrefixOnly) {
  const std::vector<std::string> names = {"text_model.final_layer_norm.weight", "cond_stage_model.transformer.text_model.final_layer_norm.weight"};
  EXPECT_THAT(map_clip_keys(sd1_clip_l(), names), ElementsAre(Pair(std::string(kModel) + "final_layer_norm.weight", names[1])));
}

TEST(ClipKeys, TakeTheProjectionFromBesideTheTextModel) {
  const std::vector<std::string> names = {"text_projection.weight", "text_model.final_layer_norm.weight"};
  EXPECT_THAT(map_clip_keys(sd1_clip_l(), names),
              ElementsAre(Key(std::string(kModel) + "final_layer_norm.weight"), Pair("clip_l.transformer.text_projection.weight", names[0])));
}

TEST(ClipKeys, AreEmptyForAFileWithoutATextEncoder) {
  const std::vector<std::string> names = {"model.diffusion_model.out.2.weight"};
  EXPECT_THAT(map_clip_keys(sd1_clip_l(), names), IsEmpty());
}

}  // namespace
}  // namespace veneer::models

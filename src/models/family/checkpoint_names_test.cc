#include "models/family/checkpoint_names.h"

#include <gtest/gtest.h>

#include "models/clip/clip_config.h"
#include "veneer/error.h"

namespace veneer::models {
namespace {

TEST(CheckpointNames, AreThoseThatLoadingReads) {
  const FamilyDef& family = all_families().front();
  EXPECT_EQ(name_in_file(unet_in_checkpoint(family), "diffusion_model.out.2.weight"), "model.diffusion_model.out.2.weight");
  EXPECT_EQ(name_in_file(vae_in_checkpoint(family), "decoder.conv_in.weight"), "first_stage_model.decoder.conv_in.weight");
  EXPECT_EQ(name_in_file(vae_alone(), "decoder.conv_in.weight"), "decoder.conv_in.weight");
}

TEST(CheckpointNames, OfATextEncoderMapBackToItsKeys) {
  const FamilyDef& family = all_families().front();
  for (const FamilyDef& each : all_families()) {
    for (const NamePrefixes& prefixes : {clip_in_checkpoint(each), clip_alone(each.clip())}) {
      const std::vector<std::string> keys = {clip_key_prefix(each.clip()) + "text_model.final_layer_norm.weight",
                                             clip_key_prefix(each.clip()) + "text_projection.weight"};
      std::vector<std::string> names;
      names.reserve(keys.size());
      for (const std::string& key : keys) names.push_back(name_in_file(prefixes, key));
      const auto mapped = map_clip_keys(each.clip(), names);
      ASSERT_EQ(mapped.size(), keys.size()) << prefixes.file;
      for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(mapped.at(keys[i]), names[i]);
    }
  }
  EXPECT_EQ(name_in_file(clip_in_checkpoint(family), "clip_l.transformer.text_model.final_layer_norm.weight"),
            "cond_stage_model.transformer.text_model.final_layer_norm.weight");
}

TEST(CheckpointNames, FindTheFamilyByTheArchitectureOfItsUnet) {
  for (const FamilyDef& family : all_families()) EXPECT_EQ(family_of_unet(std::string(family.name) + ".unet"), &family);
  EXPECT_EQ(family_of_unet("test"), nullptr);
  EXPECT_EQ(family_of_unet(""), nullptr);
}

TEST(CheckpointNames, RefuseAKeyOfAnotherModel) {
  EXPECT_THROW(name_in_file(unet_in_checkpoint(all_families().front()), "decoder.conv_in.weight"), Error);
}

}  // namespace
}  // namespace veneer::models

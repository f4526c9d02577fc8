#include "models/vae/config.h"

#include <algorithm>
#include <string_view>

#include "models/vae/structure.h"
#include "veneer/error.h"

namespace veneer::models {
namespace {

// `stem`: "encoder.down." or "decoder.up.".
std::vector<VaeLevel> read_levels(const ShapeReader& reader, const std::string& stem) {
  std::vector<VaeLevel> levels;
  while (reader.has_any(stem + std::to_string(levels.size()) + ".")) {
    const std::string name = stem + std::to_string(levels.size()) + ".";
    VaeLevel level;
    level.channels = reader.extent(name + "block.0.conv1.weight", 4, 0);
    while (reader.has_any(name + "block." + std::to_string(level.res_blocks) + ".")) ++level.res_blocks;
    if (reader.has_any(name + "attn.")) {
      throw Error(ErrorCode::unsupported, "vae: attention outside of the middle block", {{"file", reader.source()}, {"level", name}});
    }
    levels.push_back(level);
  }
  return levels;
}

void check_levels(const std::vector<VaeLevel>& levels, const std::string& source) {
  for (const VaeLevel& level : levels) {
    if (level.channels % kVaeNormGroups != 0) {
      throw Error(ErrorCode::unsupported, "vae: channels do not divide into norm groups",
                  {{"file", source}, {"channels", std::to_string(level.channels)}, {"groups", std::to_string(kVaeNormGroups)}});
    }
  }
}

}  // namespace

VaeConfig infer_vae_config(const WeightMap& weights, const std::string& source) {
  const ShapeReader reader(weights, "", source);
  VaeConfig config;
  config.encoder_width = reader.extent("encoder.conv_in.weight", 4, 0);
  config.image_channels = reader.extent("encoder.conv_in.weight", 4, 1);
  config.z_channels = reader.extent("decoder.conv_in.weight", 4, 1);
  config.quant_convs = reader.has_any("post_quant_conv.");
  config.latent_channels = config.quant_convs ? reader.extent("post_quant_conv.weight", 4, 1) : config.z_channels;
  config.linear_attention = reader.shape("decoder.mid.attn_1.q.weight").rank() == 2;
  config.encoder = read_levels(reader, "encoder.down.");
  config.decoder = read_levels(reader, "decoder.up.");
  if (config.encoder.empty() || config.encoder.size() != config.decoder.size() || config.encoder.size() > kMaxVaeLevels) {
    throw Error(ErrorCode::unsupported, "vae: encoder and decoder need the same number of levels",
                {{"file", source}, {"encoder", std::to_string(config.encoder.size())}, {"decoder", std::to_string(config.decoder.size())}});
  }
  if (config.image_channels != 3) {
    throw Error(ErrorCode::unsupported, "vae: images have to have three channels",
                {{"file", source}, {"got", std::to_string(config.image_channels)}});
  }
  check_levels({{config.encoder_width, 0}}, source);
  check_levels(config.encoder, source);
  check_levels(config.decoder, source);
  return config;
}

VaeConfig sd15_vae_config() {
  VaeConfig config;
  config.encoder_width = 128;
  config.z_channels = config.latent_channels = 4;
  config.encoder = {{128, 2}, {256, 2}, {512, 2}, {512, 2}};
  config.decoder = {{128, 3}, {256, 3}, {512, 3}, {512, 3}};
  return config;
}

}  // namespace veneer::models

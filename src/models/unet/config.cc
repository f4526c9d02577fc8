#include "models/unet/config.h"

#include "models/unet/structure.h"
#include "veneer/error.h"

namespace veneer::models {
namespace {

std::string input_block(size_t index) { return "input_blocks." + std::to_string(index) + "."; }
std::string output_block(size_t index) { return "output_blocks." + std::to_string(index) + "."; }

// How many transformer blocks lie in the layer called `layer` ("input_blocks.1.1.").
int depth_of(const ShapeReader& reader, const std::string& layer) {
  int depth = 0;
  while (reader.has_any(layer + "transformer_blocks." + std::to_string(depth) + ".")) ++depth;
  return depth;
}

void read_levels_down(const ShapeReader& reader, UnetConfig& config) {
  config.levels.emplace_back();
  for (size_t i = 1;; ++i) {
    const std::string block = input_block(i);
    if (reader.has_any(block + "0.op.")) {
      config.levels.emplace_back();
    } else if (reader.has_any(block)) {
      UnetLevel& level = config.levels.back();
      level.channels = reader.extent(block + "0.in_layers.2.weight", 4, 0);
      level.input_depths.push_back(depth_of(reader, block + "1."));
    } else {
      break;
    }
  }
  for (const UnetLevel& level : config.levels) {
    if (level.input_depths.empty()) throw Error(ErrorCode::corrupt, "unet: a level has no residual block", {{"file", reader.source()}});
  }
}

void read_levels_up(const ShapeReader& reader, UnetConfig& config) {
  size_t block = 0;
  for (size_t i = config.levels.size(); i-- > 0;) {
    UnetLevel& level = config.levels[i];
    for (size_t k = 0; k <= level.input_depths.size(); ++k) level.output_depths.push_back(depth_of(reader, output_block(block++) + "1."));
  }
}

}  // namespace

UnetConfig infer_unet_config(const WeightMap& weights, const HeadRule& heads, const std::string& source) {
  const ShapeReader reader(weights, std::string(kUnetPrefix), source);
  UnetConfig config;
  config.heads = heads;
  config.model_channels = reader.extent("input_blocks.0.0.weight", 4, 0);
  config.in_channels = reader.extent("input_blocks.0.0.weight", 4, 1);
  config.out_channels = reader.extent("out.2.weight", 4, 0);
  if (reader.has_any("label_emb.")) config.adm_channels = reader.extent("label_emb.0.0.weight", 2, 1);
  read_levels_down(reader, config);
  config.middle_depth = depth_of(reader, "middle_block.1.");
  if (config.middle_depth == 0) {
    throw Error(ErrorCode::unsupported, "unet: the middle block has no transformer", {{"file", source}});
  }
  read_levels_up(reader, config);
  config.context_dim = reader.extent("middle_block.1.transformer_blocks.0.attn2.to_k.weight", 2, 1);
  config.linear_projection = reader.shape("middle_block.1.proj_in.weight").rank() == 2;
  check_unet_config(config, source);
  return config;
}

void check_unet_config(const UnetConfig& config, const std::string& source) {
  if ((config.heads.heads > 0) == (config.heads.head_dim > 0)) {
    throw Error(ErrorCode::internal, "unet: a head rule sets either the number of heads or their width", {{"file", source}});
  }
  const int per_head = config.heads.heads > 0 ? config.heads.heads : config.heads.head_dim;
  for (const UnetLevel& level : config.levels) {
    if (level.channels % kNormGroups != 0 || level.channels % per_head != 0) {
      throw Error(ErrorCode::unsupported, "unet: channels do not divide into norm groups and heads",
                  {{"file", source},
                   {"channels", std::to_string(level.channels)},
                   {"groups", std::to_string(kNormGroups)},
                   {"heads", std::to_string(per_head)}});
    }
  }
  if (config.model_channels % kNormGroups != 0) {
    throw Error(ErrorCode::unsupported, "unet: channels do not divide into norm groups",
                {{"file", source}, {"channels", std::to_string(config.model_channels)}});
  }
}

UnetConfig sd15_unet_config() {
  UnetConfig config;
  config.model_channels = 320;
  config.levels = {{320, {1, 1}, {1, 1, 1}}, {640, {1, 1}, {1, 1, 1}}, {1280, {1, 1}, {1, 1, 1}}, {1280, {0, 0}, {0, 0, 0}}};
  config.context_dim = 768;
  config.heads.heads = 8;
  return config;
}

}  // namespace veneer::models

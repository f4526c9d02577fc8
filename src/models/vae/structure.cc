#include "models/vae/structure.h"

#include <string>

namespace veneer::models {
namespace {

using compute::ConvGeometry;

class Builder {
 public:
  explicit Builder(const VaeConfig& config) : config_(config), modules_("") {}

  VaeStructure build() {
    VaeStructure out;
    out.encoder = encoder();
    if (config_.quant_convs) {
      out.quant = modules_.conv2d("quant_conv", 2 * config_.z_channels, 2 * config_.latent_channels, 1, ConvGeometry{});
      out.post_quant = modules_.conv2d("post_quant_conv", config_.latent_channels, config_.z_channels, 1, ConvGeometry{});
    }
    out.decoder = decoder();
    out.architecture = modules_.finish();
    return out;
  }

 private:
  VaeHalfIds encoder() {
    VaeHalfIds half;
    int64_t channels = config_.encoder_width;
    half.conv_in = modules_.conv2d("encoder.conv_in", config_.image_channels, channels, 3, ConvGeometry::same3x3());
    for (size_t i = 0; i < config_.encoder.size(); ++i) {
      const std::string name = "encoder.down." + std::to_string(i) + ".";
      VaeLevelIds& level = half.levels.emplace_back();
      channels = res_blocks(level, name, channels, config_.encoder[i]);
      // One row and column of zeros at the bottom and at the right only.
      if (i + 1 < config_.encoder.size())
        level.resample = modules_.conv2d(name + "downsample.conv", channels, channels, 3, ConvGeometry{2, 0, 0, 1, 1});
    }
    half.middle = middle("encoder.mid.", channels);
    half.norm_out = modules_.norm("encoder.norm_out", channels);
    half.conv_out = modules_.conv2d("encoder.conv_out", channels, 2 * config_.z_channels, 3, ConvGeometry::same3x3());
    return half;
  }

  VaeHalfIds decoder() {
    VaeHalfIds half;
    int64_t channels = config_.decoder.back().channels;
    half.conv_in = modules_.conv2d("decoder.conv_in", config_.z_channels, channels, 3, ConvGeometry::same3x3());
    half.middle = middle("decoder.mid.", channels);
    half.levels.resize(config_.decoder.size());
    for (size_t i = config_.decoder.size(); i-- > 0;) {
      const std::string name = "decoder.up." + std::to_string(i) + ".";
      VaeLevelIds& level = half.levels[i];
      channels = res_blocks(level, name, channels, config_.decoder[i]);
      if (i > 0) level.resample = modules_.conv2d(name + "upsample.conv", channels, channels, 3, ConvGeometry::enlarging3x3());
    }
    half.norm_out = modules_.norm("decoder.norm_out", channels);
    half.conv_out = modules_.conv2d("decoder.conv_out", channels, config_.image_channels, 3, ConvGeometry::same3x3());
    return half;
  }

  // Returns the channels behind the blocks.
  int64_t res_blocks(VaeLevelIds& level, const std::string& name, int64_t channels, const VaeLevel& config) {
    for (int j = 0; j < config.res_blocks; ++j) {
      level.blocks.push_back(res_block(name + "block." + std::to_string(j) + ".", channels, config.channels));
      channels = config.channels;
    }
    return channels;
  }

  VaeResBlockIds res_block(const std::string& name, int64_t in, int64_t out) {
    VaeResBlockIds ids;
    ids.norm1 = modules_.norm(name + "norm1", in);
    ids.conv1 = modules_.conv2d(name + "conv1", in, out, 3, ConvGeometry::same3x3());
    ids.norm2 = modules_.norm(name + "norm2", out);
    if (in != out) ids.shortcut = modules_.conv2d(name + "nin_shortcut", in, out, 1, ConvGeometry{});
    ids.conv2 = modules_.conv2d(name + "conv2", out, out, 3, ConvGeometry::same3x3());
    return ids;
  }

  VaeMiddleIds middle(const std::string& name, int64_t channels) {
    VaeMiddleIds ids;
    ids.block_1 = res_block(name + "block_1.", channels, channels);
    ids.norm = modules_.norm(name + "attn_1.norm", channels);
    ids.q = projection(name + "attn_1.q", channels);
    ids.k = projection(name + "attn_1.k", channels);
    ids.v = projection(name + "attn_1.v", channels);
    ids.proj_out = projection(name + "attn_1.proj_out", channels);
    ids.block_2 = res_block(name + "block_2.", channels, channels);
    return ids;
  }

  variant::ModuleId projection(const std::string& name, int64_t channels) {
    return config_.linear_attention ? modules_.linear(name, channels, channels) : modules_.conv2d(name, channels, channels, 1, ConvGeometry{});
  }

  const VaeConfig& config_;
  ArchitectureBuilder modules_;
};

}  // namespace

VaeStructure build_vae_structure(const VaeConfig& config) { return Builder(config).build(); }

}  // namespace veneer::models

#include "models/unet/structure.h"

#include <string>

namespace veneer::models {
namespace {

using compute::ConvGeometry;

class Builder {
 public:
  explicit Builder(const UnetConfig& config) : config_(config), modules_(std::string(kUnetPrefix)) {}

  UnetStructure build() {
    const int64_t time_dim = 4 * config_.model_channels;
    UnetStructure out;
    out.time_in = modules_.linear("time_embed.0", config_.model_channels, time_dim);
    out.time_out = modules_.linear("time_embed.2", time_dim, time_dim);
    if (config_.adm_channels > 0) {
      out.label_in = modules_.linear("label_emb.0.0", config_.adm_channels, time_dim);
      out.label_out = modules_.linear("label_emb.0.2", time_dim, time_dim);
    }
    build_input(out);
    const int64_t deepest = config_.levels.back().channels;
    out.middle_in = res_block("middle_block.0.", deepest, deepest);
    out.middle = transformer("middle_block.1.", deepest, config_.middle_depth);
    out.middle_out = res_block("middle_block.2.", deepest, deepest);
    build_output(out);
    out.out_norm = modules_.norm("out.0", channels_);
    out.out_conv = modules_.conv2d("out.2", channels_, config_.out_channels, 3, ConvGeometry::same3x3());
    out.architecture = modules_.finish();
    return out;
  }

 private:
  void build_input(UnetStructure& out) {
    channels_ = config_.model_channels;
    UnetBlock& first = out.input.emplace_back();
    first.conv = modules_.conv2d("input_blocks.0.0", config_.in_channels, channels_, 3, ConvGeometry::same3x3());
    skips_.push_back(channels_);
    for (size_t i = 0; i < config_.levels.size(); ++i) {
      const UnetLevel& level = config_.levels[i];
      for (const int depth : level.input_depths) {
        const std::string name = "input_blocks." + std::to_string(out.input.size()) + ".";
        UnetBlock& block = out.input.emplace_back();
        block.res = res_block(name + "0.", channels_, level.channels);
        channels_ = level.channels;
        if (depth > 0) block.transformer = transformer(name + "1.", channels_, depth);
        skips_.push_back(channels_);
      }
      if (i + 1 == config_.levels.size()) break;
      const std::string name = "input_blocks." + std::to_string(out.input.size()) + ".0.op";
      out.input.emplace_back().conv = modules_.conv2d(name, channels_, channels_, 3, ConvGeometry{2, 1, 1, 1, 1});
      skips_.push_back(channels_);
    }
  }

  void build_output(UnetStructure& out) {
    for (size_t i = config_.levels.size(); i-- > 0;) {
      const UnetLevel& level = config_.levels[i];
      for (size_t k = 0; k < level.output_depths.size(); ++k) {
        const std::string name = "output_blocks." + std::to_string(out.output.size()) + ".";
        UnetBlock& block = out.output.emplace_back();
        block.res = res_block(name + "0.", channels_ + skips_.back(), level.channels);
        skips_.pop_back();
        channels_ = level.channels;
        if (level.output_depths[k] > 0) block.transformer = transformer(name + "1.", channels_, level.output_depths[k]);
        if (i > 0 && k + 1 == level.output_depths.size()) {
          const std::string upsample = name + (block.transformer ? "2" : "1") + ".conv";
          block.upsample = modules_.conv2d(upsample, channels_, channels_, 3, ConvGeometry::enlarging3x3());
        }
      }
    }
  }

  ResBlockIds res_block(const std::string& name, int64_t in, int64_t out) {
    ResBlockIds ids;
    ids.in_norm = modules_.norm(name + "in_layers.0", in);
    ids.in_conv = modules_.conv2d(name + "in_layers.2", in, out, 3, ConvGeometry::same3x3());
    ids.emb = modules_.linear(name + "emb_layers.1", 4 * config_.model_channels, out);
    ids.out_norm = modules_.norm(name + "out_layers.0", out);
    if (in != out) ids.skip = modules_.conv2d(name + "skip_connection", in, out, 1, ConvGeometry{});
    ids.out_conv = modules_.conv2d(name + "out_layers.3", out, out, 3, ConvGeometry::same3x3());
    return ids;
  }

  AttentionIds attention(const std::string& name, int64_t channels, int64_t context) {
    AttentionIds ids;
    ids.to_q = modules_.linear(name + "to_q", channels, channels, false);
    ids.to_k = modules_.linear(name + "to_k", context, channels, false);
    ids.to_v = modules_.linear(name + "to_v", context, channels, false);
    ids.to_out = modules_.linear(name + "to_out.0", channels, channels);
    return ids;
  }

  variant::ModuleId projection(const std::string& name, int64_t channels) {
    return config_.linear_projection ? modules_.linear(name, channels, channels) : modules_.conv2d(name, channels, channels, 1, ConvGeometry{});
  }

  SpatialTransformerIds transformer(const std::string& name, int64_t channels, int depth) {
    SpatialTransformerIds ids;
    ids.heads = config_.heads.heads > 0 ? config_.heads.heads : static_cast<int>(channels / config_.heads.head_dim);
    ids.head_dim = static_cast<int>(channels / ids.heads);
    ids.norm = modules_.norm(name + "norm", channels);
    ids.proj_in = projection(name + "proj_in", channels);
    for (int i = 0; i < depth; ++i) {
      const std::string block = name + "transformer_blocks." + std::to_string(i) + ".";
      TransformerBlockIds& b = ids.blocks.emplace_back();
      b.norm1 = modules_.norm(block + "norm1", channels);
      b.attn1 = attention(block + "attn1.", channels, channels);
      b.norm2 = modules_.norm(block + "norm2", channels);
      b.attn2 = attention(block + "attn2.", channels, config_.context_dim);
      b.norm3 = modules_.norm(block + "norm3", channels);
      b.ff_in = modules_.linear(block + "ff.net.0.proj", channels, 8 * channels);
      b.ff_out = modules_.linear(block + "ff.net.2", 4 * channels, channels);
    }
    ids.proj_out = projection(name + "proj_out", channels);
    return ids;
  }

  const UnetConfig& config_;
  ArchitectureBuilder modules_;
  int64_t channels_ = 0;
  std::vector<int64_t> skips_;  // channels of the skips not yet taken back
};

}  // namespace

UnetStructure build_unet_structure(const UnetConfig& config) { return Builder(config).build(); }

}  // namespace veneer::models

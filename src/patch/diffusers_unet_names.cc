// How diffusers numbers the parts of a UNet that the SD layout numbers through: blocks per resolution, each with its residual blocks, attentions and
// a resampler.
#include <array>
#include <string>

#include "patch/key_map.h"
#include "veneer/error.h"

namespace veneer::patch {
namespace {

using Pair = std::array<std::string_view, 2>;  // SD layout, diffusers

constexpr Pair kResnet[] = {{"in_layers.0", "norm1"},  {"in_layers.2", "conv1"},  {"emb_layers.1", "time_emb_proj"},
                            {"out_layers.0", "norm2"}, {"out_layers.3", "conv2"}, {"skip_connection", "conv_shortcut"}};
constexpr Pair kOutside[] = {{"label_emb.0.0", "class_embedding.linear_1"},
                             {"label_emb.0.2", "class_embedding.linear_2"},
                             {"label_emb.0.0", "add_embedding.linear_1"},
                             {"label_emb.0.2", "add_embedding.linear_2"},
                             {"time_embed.0", "time_embedding.linear_1"},
                             {"time_embed.2", "time_embedding.linear_2"},
                             {"input_blocks.0.0", "conv_in"},
                             {"out.0", "conv_norm_out"},
                             {"out.2", "conv_out"}};
// The same in both.
constexpr std::string_view kAttention[] = {"norm", "proj_in", "proj_out"};
constexpr std::string_view kTransformer[] = {"norm1",          "norm2",          "norm3",      "attn1.to_q", "attn1.to_k",
                                             "attn1.to_v",     "attn1.to_out.0", "attn2.to_q", "attn2.to_k", "attn2.to_v",
                                             "attn2.to_out.0", "ff.net.0.proj",  "ff.net.2"};

class Names {
 public:
  void layer(const std::string& diffusers, const std::string& sd) { entries_.emplace_back(diffusers + ".weight", sd + ".weight"); }
  void resnet(const std::string& diffusers, const std::string& sd) {
    for (const auto& [there, here] : kResnet) layer(join(diffusers, here), join(sd, there));
  }
  void attention(const std::string& diffusers, const std::string& sd, int depth) {
    if (depth <= 0) return;
    for (const std::string_view part : kAttention) layer(join(diffusers, part), join(sd, part));
    for (int block = 0; block < depth; ++block) {
      const std::string middle = ".transformer_blocks." + std::to_string(block);
      for (const std::string_view part : kTransformer) layer(join(diffusers + middle, part), join(sd + middle, part));
    }
  }
  static std::string join(const std::string& prefix, std::string_view part) {
    std::string name = prefix;
    return name.append(".").append(part);
  }
  std::vector<KeyMap::Entry> take() { return std::move(entries_); }

 private:
  std::vector<KeyMap::Entry> entries_;
};

std::string numbered(std::string name, int index) { return name.append(std::to_string(index)); }

void add_down(Names& names, const UnetLayout& layout) {
  int n = 1;
  size_t depth = 0;
  for (size_t level = 0; level < layout.num_res_blocks.size(); ++level) {
    const std::string block = numbered("down_blocks.", static_cast<int>(level));
    for (int i = 0; i < layout.num_res_blocks[level]; ++i, ++n) {
      const std::string sd = numbered("input_blocks.", n);
      names.resnet(numbered(block + ".resnets.", i), sd + ".0");
      names.attention(numbered(block + ".attentions.", i), sd + ".1", layout.transformer_depth.at(depth++));
    }
    names.layer(block + ".downsamplers.0.conv", numbered("input_blocks.", n++) + ".0.op");
  }
}

void add_up(Names& names, const UnetLayout& layout) {
  int n = 0;
  size_t depth = layout.transformer_depth_output.size();
  for (size_t up = 0; up < layout.num_res_blocks.size(); ++up) {
    const std::string block = numbered("up_blocks.", static_cast<int>(up));
    const int count = layout.num_res_blocks[layout.num_res_blocks.size() - 1 - up] + 1;
    for (int i = 0; i < count; ++i, ++n) {
      const std::string sd = numbered("output_blocks.", n);
      names.resnet(numbered(block + ".resnets.", i), sd + ".0");
      const int transformers = layout.transformer_depth_output.at(--depth);
      names.attention(numbered(block + ".attentions.", i), sd + ".1", transformers);
      if (i == count - 1) names.layer(block + ".upsamplers.0.conv", numbered(sd + ".", transformers > 0 ? 2 : 1) + ".conv");
    }
  }
}

void check(const UnetLayout& layout) {
  size_t blocks = 0;
  for (const int count : layout.num_res_blocks) {
    if (count < 0 || count > 64) throw Error(ErrorCode::invalid, "unet layout: number of residual blocks", {{"got", std::to_string(count)}});
    blocks += static_cast<size_t>(count);
  }
  if (layout.transformer_depth.size() < blocks || layout.transformer_depth_output.size() < blocks + layout.num_res_blocks.size()) {
    throw Error(ErrorCode::invalid, "unet layout: a transformer depth is missing",
                {{"residual blocks", std::to_string(blocks)},
                 {"transformer_depth", std::to_string(layout.transformer_depth.size())},
                 {"transformer_depth_output", std::to_string(layout.transformer_depth_output.size())}});
  }
}

}  // namespace

std::vector<KeyMap::Entry> diffusers_unet_names(const UnetLayout& layout) {
  if (layout.num_res_blocks.empty()) return {};
  check(layout);
  Names names;
  add_down(names, layout);
  names.attention("mid_block.attentions.0", "middle_block.1", layout.transformer_depth_middle);
  names.resnet("mid_block.resnets.0", "middle_block.0");
  names.resnet("mid_block.resnets.1", "middle_block.2");
  add_up(names, layout);
  for (const auto& [sd, diffusers] : kOutside) names.layer(std::string(diffusers), std::string(sd));
  return names.take();
}

}  // namespace veneer::patch

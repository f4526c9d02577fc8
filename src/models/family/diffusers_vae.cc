#include "models/family/diffusers_vae.h"

#include <charconv>

namespace veneer::models {
namespace {

struct Renaming {
  std::string_view from, to;
};

// Prefixes that are the same at every level.
constexpr Renaming kStems[] = {
    {"encoder.conv_norm_out.", "encoder.norm_out."},
    {"decoder.conv_norm_out.", "decoder.norm_out."},
    {"encoder.mid_block.resnets.0.", "encoder.mid.block_1."},
    {"encoder.mid_block.resnets.1.", "encoder.mid.block_2."},
    {"decoder.mid_block.resnets.0.", "decoder.mid.block_1."},
    {"decoder.mid_block.resnets.1.", "decoder.mid.block_2."},
    {"encoder.mid_block.attentions.0.", "encoder.mid.attn_1."},
    {"decoder.mid_block.attentions.0.", "decoder.mid.attn_1."},
};

// Names inside of a block, old and new ones.
constexpr Renaming kParts[] = {
    {"conv_shortcut.", "nin_shortcut."},
    {"group_norm.", "norm."},
    {"to_q.", "q."},
    {"to_k.", "k."},
    {"to_v.", "v."},
    {"to_out.0.", "proj_out."},
    {"query.", "q."},
    {"proj_attn.", "proj_out."},
    {"key.", "k."},
    {"value.", "v."},
};

// Splits "3.rest" into 3 and "rest". False when it does not begin so.
bool take_number(std::string_view& text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0 || number > 63 || end == text.data() + text.size() || *end != '.') return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  return true;
}

std::string rename_part(std::string_view rest) {
  for (const Renaming& part : kParts) {
    if (rest.starts_with(part.from)) return std::string(part.to) + std::string(rest.substr(part.from.size()));
  }
  return std::string(rest);
}

// "resnets.1.conv1.weight" of a level: "block.1.conv1.weight". Empty when it is nothing of the kind.
std::string rename_in_level(std::string_view rest) {
  constexpr std::string_view kBlock = "resnets.";
  constexpr Renaming kSampling[] = {{"downsamplers.0.", "downsample."}, {"upsamplers.0.", "upsample."}};
  for (const Renaming& sampling : kSampling) {
    if (rest.starts_with(sampling.from)) return std::string(sampling.to) + std::string(rest.substr(sampling.from.size()));
  }
  int index = 0;
  if (!rest.starts_with(kBlock)) return "";
  rest.remove_prefix(kBlock.size());
  return take_number(rest, index) ? "block." + std::to_string(index) + "." + rename_part(rest) : "";
}

// `levels`: of the decoder, which counts them from the lowest resolution on.
std::string original_name(std::string_view name, int levels) {
  for (const Renaming& stem : kStems) {
    if (name.starts_with(stem.from)) return std::string(stem.to) + rename_part(name.substr(stem.from.size()));
  }
  constexpr Renaming kLevels[] = {{"encoder.down_blocks.", "encoder.down."}, {"decoder.up_blocks.", "decoder.up."}};
  for (const Renaming& level : kLevels) {
    if (!name.starts_with(level.from)) continue;
    std::string_view rest = name.substr(level.from.size());
    int index = 0;
    const std::string inner = take_number(rest, index) ? rename_in_level(rest) : "";
    if (inner.empty()) break;
    const bool decoder = name.starts_with("decoder.");
    return std::string(level.to) + std::to_string(decoder ? levels - 1 - index : index) + "." + inner;
  }
  return std::string(name);
}

int count_levels(const WeightMap& tensors, std::string_view prefix) {
  const std::string stem = std::string(prefix) + "decoder.up_blocks.";
  int levels = 0;
  for (auto it = tensors.lower_bound(stem); it != tensors.end() && it->first.starts_with(stem); ++it) {
    std::string_view rest = std::string_view(it->first).substr(stem.size());
    int index = 0;
    if (take_number(rest, index) && index >= levels) levels = index + 1;
  }
  return levels;
}

}  // namespace

bool is_diffusers_vae(const WeightMap& tensors, std::string_view prefix) { return count_levels(tensors, prefix) > 0; }

WeightMap with_original_vae_names(const WeightMap& tensors, std::string_view prefix) {
  const int levels = count_levels(tensors, prefix);
  WeightMap out;
  for (auto it = tensors.lower_bound(prefix); it != tensors.end() && it->first.starts_with(prefix); ++it) {
    out.emplace(original_name(std::string_view(it->first).substr(prefix.size()), levels), it->second);
  }
  return out;
}

}  // namespace veneer::models

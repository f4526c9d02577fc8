#include "nodes/options/options_overlay.h"

namespace veneer::nodes {

variant::TransformerOptions merged(variant::TransformerOptions options, const variant::TransformerOptions& added) {
  const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  const auto replace = [](auto& to, const auto& from) {
    for (const auto& [position, patch] : from) to.insert_or_assign(position, patch);
  };
  append(options.attn1_patch, added.attn1_patch);
  append(options.attn2_patch, added.attn2_patch);
  append(options.attn1_output_patch, added.attn1_output_patch);
  append(options.attn2_output_patch, added.attn2_output_patch);
  replace(options.attn1_replace, added.attn1_replace);
  replace(options.attn2_replace, added.attn2_replace);
  append(options.input_block_patch, added.input_block_patch);
  append(options.input_block_patch_after_skip, added.input_block_patch_after_skip);
  append(options.output_block_patch, added.output_block_patch);
  append(options.middle_patch, added.middle_patch);
  append(options.emb_patch, added.emb_patch);
  return options;
}

}  // namespace veneer::nodes

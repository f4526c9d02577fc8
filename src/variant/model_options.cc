#include "variant/model_options.h"

namespace veneer::variant {

bool TransformerOptions::empty() const {
  return attn1_patch.empty() && attn2_patch.empty() && attn1_output_patch.empty() && attn2_output_patch.empty() && attn1_replace.empty() &&
         attn2_replace.empty() && input_block_patch.empty() && input_block_patch_after_skip.empty() && output_block_patch.empty() &&
         middle_patch.empty() && emb_patch.empty();
}

namespace {

template <typename List>
void add_list(FingerprintBuilder& builder, const List& list) {
  builder.add(static_cast<uint64_t>(list.size()));
  for (const auto& entry : list) builder.add(entry.id);
}

template <typename Map>
void add_map(FingerprintBuilder& builder, const Map& map) {
  builder.add(static_cast<uint64_t>(map.size()));
  for (const auto& [position, entry] : map) {
    builder.add(position.block).add(position.block_index).add(position.transformer_index).add(entry.id);
  }
}

}  // namespace

void add_to_fingerprint(FingerprintBuilder& builder, const ModelOptions& options) {
  const TransformerOptions& transformer = options.transformer_options;
  add_list(builder, transformer.attn1_patch);
  add_list(builder, transformer.attn2_patch);
  add_list(builder, transformer.attn1_output_patch);
  add_list(builder, transformer.attn2_output_patch);
  add_map(builder, transformer.attn1_replace);
  add_map(builder, transformer.attn2_replace);
  add_list(builder, transformer.input_block_patch);
  add_list(builder, transformer.input_block_patch_after_skip);
  add_list(builder, transformer.output_block_patch);
  add_list(builder, transformer.middle_patch);
  add_list(builder, transformer.emb_patch);
  builder.add(options.guidance.fingerprint());
}

}  // namespace veneer::variant

#include "variant/model_options.h"

namespace veneer::variant {

bool TransformerOptions::empty() const {
  return attn1_patch.empty() && attn2_patch.empty() && attn1_output_patch.empty() && attn2_output_patch.empty() && attn1_replace.empty() &&
         attn2_replace.empty() && input_block_patch.empty() && input_block_patch_after_skip.empty() && output_block_patch.empty() &&
         middle_patch.empty() && emb_patch.empty();
}

}  // namespace veneer::variant

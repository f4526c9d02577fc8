#include <iterator>

#include "nodes/nodes.h"

namespace veneer::nodes {

std::vector<graph::NodeDef> all_nodes() {
  std::vector<graph::NodeDef> all;
  for (auto* theme :
       {loader_nodes,    text_nodes, conditioning_nodes,  latent_nodes,       sampling_nodes,        vae_nodes,   image_file_nodes,
        image_nodes,     mask_nodes, primitive_nodes,     model_option_nodes, guidance_option_nodes, merge_nodes, model_save_nodes,
        lora_save_nodes, hook_nodes, hook_keyframe_nodes, cond_pair_nodes,    rebatch_nodes,         show_nodes,  custom_sampling_nodes}) {
    std::vector<graph::NodeDef> nodes = theme();
    std::move(nodes.begin(), nodes.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace veneer::nodes

// Every node class that Veneer brings along: one list per theme, joined here.
#pragma once

#include <vector>

#include "graph/node_def.h"

namespace veneer::nodes {

std::vector<graph::NodeDef> loader_nodes();
std::vector<graph::NodeDef> text_nodes();
std::vector<graph::NodeDef> conditioning_nodes();
std::vector<graph::NodeDef> latent_nodes();
std::vector<graph::NodeDef> sampling_nodes();
std::vector<graph::NodeDef> custom_sampling_nodes();
std::vector<graph::NodeDef> vae_nodes();
std::vector<graph::NodeDef> image_file_nodes();
std::vector<graph::NodeDef> image_nodes();
std::vector<graph::NodeDef> mask_nodes();
std::vector<graph::NodeDef> primitive_nodes();
std::vector<graph::NodeDef> model_option_nodes();
std::vector<graph::NodeDef> guidance_option_nodes();
std::vector<graph::NodeDef> merge_nodes();
std::vector<graph::NodeDef> model_save_nodes();
std::vector<graph::NodeDef> lora_save_nodes();
std::vector<graph::NodeDef> hook_nodes();
std::vector<graph::NodeDef> hook_keyframe_nodes();
std::vector<graph::NodeDef> cond_pair_nodes();
std::vector<graph::NodeDef> rebatch_nodes();
std::vector<graph::NodeDef> show_nodes();

// All of them, in the order of the lists above.
std::vector<graph::NodeDef> all_nodes();

}  // namespace veneer::nodes

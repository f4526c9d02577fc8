#include <iterator>

#include "nodes/check_ranges.h"
#include "nodes/nodes.h"

namespace veneer::nodes {

std::vector<graph::NodeDef> all_nodes() {
  std::vector<graph::NodeDef> all;
  for (auto* theme : {loader_nodes, text_nodes, conditioning_nodes, latent_nodes, sampling_nodes, vae_nodes, image_file_nodes, image_nodes,
                      mask_nodes, primitive_nodes}) {
    std::vector<graph::NodeDef> nodes = theme();
    for (graph::NodeDef& node : nodes) {
      node.run = [run = std::move(node.run), inputs = node.inputs](graph::NodeContext& context, const graph::Inputs& values) {
        check_ranges(inputs, values);
        return run(context, values);
      };
    }
    std::move(nodes.begin(), nodes.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace veneer::nodes

#include <cstring>

#include "nodes/node_builder.h"
#include "nodes/nodes.h"
#include "tensor/tensor.h"

namespace veneer::nodes {
namespace {

using graph::InputDef;
using graph::Inputs;
using graph::NodeContext;
using graph::NodeDef;
using graph::NodeResult;
using graph::Value;

// The pictures as one batch. Throws Error(invalid) if they differ in size.
Tensor joined(const std::vector<Tensor>& pictures) {
  const Shape& shape = pictures.front().shape();
  Tensor batch = Tensor::empty(shape.with(0, static_cast<int64_t>(pictures.size())), pictures.front().dtype());
  std::byte* to = batch.mutable_bytes();
  for (const Tensor& picture : pictures) {
    if (!(picture.shape() == shape) || picture.dtype() != batch.dtype()) {
      throw Error(ErrorCode::invalid, "pictures of one batch have to be of one size",
                  {{"input", "images"}, {"want", shape.to_string()}, {"got", picture.shape().to_string()}});
    }
    std::memcpy(to, picture.bytes(), picture.size_bytes());
    to += picture.size_bytes();
  }
  return batch;
}

NodeDef rebatch_images() {
  NodeDef node =
      make_node({"RebatchImages", "Rebatch Images", "image/batch"},
                {InputDef::socket("images", "IMAGE"), InputDef::integer("batch_size", 1, 1, 4096)}, {"IMAGE"}, [](NodeContext&, const Inputs& in) {
                  const auto size = static_cast<size_t>(in.integer("batch_size"));
                  std::vector<Value> batches;
                  std::vector<Tensor> open;
                  const auto close = [&] {
                    if (!open.empty()) batches.push_back(Value::of("IMAGE", joined(open)));
                    open.clear();
                  };
                  for (const Value& value : in.list("images")) {
                    const auto& images = value.get<Tensor>();
                    for (int64_t i = 0; i < images.dim(0); ++i) {
                      open.push_back(images.slice(i, 1));
                      if (open.size() == size) close();
                    }
                  }
                  close();
                  return NodeResult{Value::list(std::move(batches))};
                });
  node.input_is_list = true;
  node.outputs.front().is_list = true;
  node.module = "comfy_extras.nodes_rebatch";
  node.newer_schema = true;
  return node;
}

}  // namespace

std::vector<graph::NodeDef> rebatch_nodes() { return {rebatch_images()}; }

}  // namespace veneer::nodes

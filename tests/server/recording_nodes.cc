#include "recording_nodes.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

#include "nodes/node_builder.h"

namespace veneer::testing {
namespace {

using graph::InputDef;
using graph::Inputs;
using graph::Json;
using graph::NodeContext;
using graph::NodeDef;
using graph::NodeResult;
using graph::Value;

graph::Preview preview_of(const Tensor& image, const std::string& format) {
  graph::Preview preview;
  preview.rgb = image.slice(0, 1).reshape({image.dim(1), image.dim(2), 3});
  preview.format = format;
  return preview;
}

// Reports `steps` steps, `delay` seconds each.
NodeDef progress_node() {
  return nodes::make_node(
      {"RecProgress", "RecProgress", "testing"},
      {InputDef::socket("image", "IMAGE"), InputDef::integer("steps", 5, 1, 10000), InputDef::number("delay", 0.0, 0.0, 10.0, 0.01),
       InputDef::choice("preview", {"none", "PNG", "JPEG"}), InputDef::integer("salt", 0, 0, 1'000'000)},
      {"IMAGE"}, [](NodeContext& node, const Inputs& in) {
        const auto steps = in.integer("steps");
        const std::chrono::duration<double> delay(in.number("delay"));
        for (int64_t step = 1; step <= steps; ++step) {
          std::this_thread::sleep_for(delay);
          std::optional<graph::Preview> preview;
          if (in.text("preview") != "none") preview = preview_of(in.get<Tensor>("image"), in.text("preview"));
          node.progress(step, steps, std::move(preview));
        }
        return NodeResult{in.value("image")};
      });
}

NodeDef fail_node() {
  return nodes::make_node({"RecFail", "RecFail", "testing"},
                          {InputDef::socket("image", "IMAGE"), InputDef::choice("kind", {"runtime", "value", "oom"}), InputDef::text("text", ""),
                           InputDef::number("number", 0.0, -10.0, 10.0, 0.01), InputDef::boolean("flag", true)},
                          {"IMAGE"}, [](NodeContext&, const Inputs& in) -> NodeResult {
                            if (in.text("kind") == "value") throw Error(ErrorCode::invalid, in.text("text"));
                            if (in.text("kind") == "oom") throw Error(ErrorCode::no_memory, in.text("text"));
                            throw std::runtime_error(in.text("text"));
                          });
}

NodeDef text_node() {
  return nodes::make_node({"RecText", "RecText", "testing"}, {InputDef::socket("image", "IMAGE"), InputDef::text("text", "")}, {"IMAGE"},
                          [](NodeContext& node, const Inputs& in) {
                            node.progress_text(in.text("text"));
                            node.progress_text(in.text("text") + " to one");
                            return NodeResult{in.value("image")};
                          });
}

NodeDef ui_node() {
  NodeDef node =
      nodes::make_node({"RecUI", "RecUI", "testing"}, {InputDef::text("value", "")}, {"STRING"}, [](NodeContext& context, const Inputs& in) {
        NodeResult result{in.value("value")};
        result.ui = Json{{"text", {in.text("value")}}, {"extra", {true}}, {"uid", {context.node_id()}}};
        return result;
      });
  node.inputs.push_back(InputDef::hidden("unique_id", "UNIQUE_ID"));
  node.output_node = true;
  return node;
}

// A picture of one level, or of a pattern.
NodeDef stub_image() {
  return nodes::make_node({"StubImage", "StubImage", "testing"},
                          {InputDef::choice("content", {"WHITE", "BLACK", "NOISE"}), InputDef::integer("height", 512, 1, 1024),
                           InputDef::integer("width", 512, 1, 4096), InputDef::integer("batch_size", 1, 1, 1024)},
                          {"IMAGE"}, [](NodeContext&, const Inputs& in) {
                            Tensor image = Tensor::zeros({in.integer("batch_size"), in.integer("height"), in.integer("width"), 3}, DType::f32);
                            const auto values = image.mutable_floats();
                            const std::string content = in.text("content");
                            for (size_t i = 0; i < values.size(); ++i) {
                              values[i] = content == "WHITE" ? 1.0F : content == "BLACK" ? 0.0F : static_cast<float>(i * 7919 % 256) / 255.0F;
                            }
                            return NodeResult{Value::of("IMAGE", std::move(image))};
                          });
}

// Shows any value as text.
NodeDef preview_any() {
  NodeDef node = nodes::make_node({"PreviewAny", "PreviewAny", "testing"}, {InputDef::socket("source", "*")}, {}, [](NodeContext&, const Inputs& in) {
    const Json shown = in.value("source").describe();
    return NodeResult::with_ui(Json{{"text", {shown.is_string() ? shown.get<std::string>() : shown.dump()}}});
  });
  node.output_node = true;
  return node;
}

}  // namespace

std::vector<NodeDef> recording_nodes() { return {progress_node(), fail_node(), text_node(), ui_node(), stub_image(), preview_any()}; }

}  // namespace veneer::testing

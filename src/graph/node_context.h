// NodeContext: all that a running node sees besides its inputs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "graph/environment.h"
#include "graph/json.h"
#include "graph/node_result.h"
#include "tensor/tensor.h"

namespace veneer::graph {

struct NodeDef;

// Where a node stands. For nodes of the submitted prompt all ids are equal and there is no parent.
struct NodeRef {
  std::string node_id;
  std::string display_node_id;                // the node the editor highlights
  std::optional<std::string> parent_node_id;  // the node whose expansion made this one
  std::string real_node_id;                   // the outermost parent: an id of the submitted prompt
  std::string class_type;
};

// A picture to show while a node works. `rgb` is [H, W, 3] u8, or f32 in 0..1. The receiver scales and encodes it.
struct Preview {
  Tensor rgb;
  std::string format = "JPEG";  // or "PNG"
  int max_size = 512;           // pixels of the longer side; 0: as it is
};

struct Progress {
  double value = 0;
  double max = 1;
  bool integral = true;  // value and max are whole numbers and are reported as such
  std::optional<Preview> preview;
};

// The graph as it is now, with the nodes that expansions added (the hidden input DYNPROMPT).
class GraphView {
 public:
  struct Node {
    std::string id;
    std::string class_type;
    std::vector<std::pair<std::string, Source>> inputs;
    std::string display_id;
    std::optional<std::string> parent_id;
    const NodeDef* def = nullptr;
  };
  virtual ~GraphView() = default;
  virtual bool has(std::string_view id) const = 0;
  // Valid until the node's call returns. Throws Error(not_found).
  virtual const Node& node(std::string_view id) const = 0;
  virtual std::vector<std::string> ids() const = 0;
};

// What the executor lends to a node's call. Implemented by the executor and by tests.
class NodeHost {
 public:
  virtual ~NodeHost() = default;
  virtual const Json& prompt() = 0;
  virtual const Json& extra_pnginfo() = 0;
  virtual const GraphView& graph() = 0;
  virtual void progress(const NodeRef& node, const Progress& progress) = 0;
  virtual void progress_text(const NodeRef& node, const std::string& text) = 0;
  virtual std::shared_ptr<void> state(const NodeRef& node, std::type_index type, std::shared_ptr<void> (*make)()) = 0;
};

// Lives for one call. Members may be called from the thread of the call only, except `cancel`.
class NodeContext {
 public:
  // Without a host (unit tests of nodes) the prompt is null, progress goes nowhere and the state lasts as long as the context.
  NodeContext(const Environment& environment, NodeRef node, std::string prompt_id = "", CancelToken cancel = {}, NodeHost* host = nullptr,
              int call_index = 0)
      : environment_(environment),
        node_(std::move(node)),
        prompt_id_(std::move(prompt_id)),
        cancel_(std::move(cancel)),
        host_(host),
        call_index_(call_index) {}
  explicit NodeContext(const Environment& environment) : NodeContext(environment, NodeRef{}) {}

  const Environment& environment() const { return environment_; }
  template <typename T>
  T& service() const {
    return environment_.get<T>();
  }

  const std::string& prompt_id() const { return prompt_id_; }
  const NodeRef& node() const { return node_; }
  const std::string& node_id() const { return node_.node_id; }  // the hidden input UNIQUE_ID
  const std::string& display_id() const { return node_.display_node_id; }
  // Which call of a list mapping this is, from 0.
  int call_index() const { return call_index_; }

  // The submitted prompt in API format after conversion of its values (the hidden input PROMPT); null if unknown.
  const Json& prompt() const;
  // extra_data.extra_pnginfo of the request, e.g. {"workflow": {...}}; null if none.
  const Json& extra_pnginfo() const;
  // Throws Error(internal) without a host.
  const GraphView& graph() const;

  const CancelToken& cancel() const { return cancel_; }
  // Reports a step and throws Error(cancelled) if the job was cancelled.
  void progress(int64_t value, int64_t max, std::optional<Preview> preview = std::nullopt) const;
  void progress(const Progress& progress) const;
  // A line of text shown on the node.
  void progress_text(const std::string& text) const;

  // State of this node, made at first use and kept over prompts for as long as a node of this id and class stays in the graph.
  template <typename T>
  std::shared_ptr<T> state() {
    return std::static_pointer_cast<T>(state_of(
        typeid(T), +[]() -> std::shared_ptr<void> { return std::make_shared<T>(); }));
  }

  // Number of sub-graphs that this call has begun; GraphBuilder counts with it.
  int next_graph_index() { return graph_index_++; }

 private:
  std::shared_ptr<void> state_of(std::type_index type, std::shared_ptr<void> (*make)());

  const Environment& environment_;
  NodeRef node_;
  std::string prompt_id_;
  CancelToken cancel_;
  NodeHost* host_;
  int call_index_;
  int graph_index_ = 0;
  std::vector<std::pair<std::type_index, std::shared_ptr<void>>> own_state_;
};

}  // namespace veneer::graph

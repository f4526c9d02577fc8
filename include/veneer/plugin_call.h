// Call: what a function of a node class asks and answers. One object for each call, for the time of the call. Other threads may use it until then.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veneer/plugin_json.h"
#include "veneer/plugin_value.h"

namespace veneer::plugin {

// An output slot of a node: of an expansion's node, or of one in the graph around.
struct Link {
  std::string node_id;
  int32_t slot = 0;
};

// A node of the sub-graph that runs in the place of this one.
class GraphNode {
 public:
  GraphNode(detail::Place place, uint32_t number) : place_(place), number_(number) {}
  GraphNode& set(std::string_view input, const Value& value) {
    place_.check(place_.host->graph_set(place_.host->self, place_.call, number_, detail::abi(input), value.handle()));
    return *this;
  }
  GraphNode& set(std::string_view input, const Link& link) {
    place_.check(place_.host->graph_link(place_.host->self, place_.call, number_, detail::abi(input), detail::abi(link.node_id), link.slot));
    return *this;
  }
  // The node of the prompt that the editor highlights while this one runs.
  GraphNode& display(std::string_view id) {
    place_.check(place_.host->graph_display(place_.host->self, place_.call, number_, detail::abi(id)));
    return *this;
  }
  std::string id() const { return std::string(detail::view(place_.get<VeneerText>(place_.host->graph_node_id, number_))); }
  Link out(int32_t slot) const { return {id(), slot}; }

 private:
  detail::Place place_;
  uint32_t number_;
};

// A node of the graph as it is now.
struct ViewedNode {
  struct Input {
    std::string name;
    std::optional<Link> link;
    Value constant;
  };
  std::string class_type;
  std::vector<Input> inputs;
};

class Call {
 public:
  Call(const VeneerHost* host, VeneerCall call) : place_{host, call} {}

  // --- Inputs ---
  // Absent inputs and links that were not evaluated are none. Of a class that takes lists: the first element.
  Value input(std::string_view name) const { return input(name, 0); }
  Value input(std::string_view name, size_t index) const {
    return {place_, place_.get<VeneerValue>(place_.host->input_value, detail::abi(name), index)};
  }
  size_t length(std::string_view name) const { return place_.get<size_t>(place_.host->input_length, detail::abi(name)); }
  bool has(std::string_view name) const { return !input(name).is_none(); }
  // All that came, undeclared ones of a class that accepts any included.
  std::vector<std::string> input_names() const {
    std::vector<std::string> names(place_.get<size_t>(place_.host->input_count));
    for (size_t i = 0; i < names.size(); ++i) names[i] = detail::view(place_.get<VeneerText>(place_.host->input_name, i));
    return names;
  }
  // In `validate`: the type that is linked to an input, or "".
  std::string input_type(std::string_view name) const {
    return std::string(detail::view(place_.get<VeneerText>(place_.host->input_type, detail::abi(name))));
  }

  // --- Values ---
  Value make(bool from) const { return made(place_.host->make_boolean, static_cast<int32_t>(from)); }
  template <std::integral T>
  Value make(T from) const {
    if constexpr (std::is_signed_v<T>) return made(place_.host->make_integer, static_cast<int64_t>(from));
    return made(place_.host->make_unsigned, static_cast<uint64_t>(from));
  }
  template <std::floating_point T>
  Value make(T from) const {
    return made(place_.host->make_number, static_cast<double>(from));
  }
  Value make(std::string_view from) const { return made(place_.host->make_text, detail::abi(from)); }
  Value make(const std::string& from) const { return make(std::string_view(from)); }
  Value make(const char* from) const { return make(std::string_view(from)); }
  Value make(const Json& from) const { return made(place_.host->make_json, detail::abi(from.text())); }
  // A list: for outputs that are lists, or as one value.
  Value list(const std::vector<Value>& values) const {
    std::vector<VeneerValue> handles;
    handles.reserve(values.size());
    for (const Value& value : values) handles.push_back(value.handle());
    return made(place_.host->make_list, static_cast<const VeneerValue*>(handles.data()), handles.size());
  }
  // Zeros, f32. IMAGE is [N, H, W, 3], MASK [N, H, W], LATENT [N, C, h, w]; other types have any shape.
  NewTensor tensor(std::string_view type, const std::vector<int64_t>& shape, int32_t dtype = VENEER_F32) const;
  // An object of the plug-in's own, for its own nodes, under a type name of its own.
  template <typename T>
  Value object(std::string_view type, T content) const {
    void* owned = new T(std::move(content));
    return made(
        place_.host->make_object, detail::abi(type), owned, +[](void* object) { delete static_cast<T*>(object); });
  }
  // Stops the nodes that receive it; with a message, the first of them reports it.
  Value blocker() const { return made(place_.host->make_blocker, VeneerText{nullptr, 0}); }
  Value blocker(std::string_view message) const { return made(place_.host->make_blocker, detail::abi(message)); }

  // --- Answers of `run`, outputs in the order of the description ---
  void output(const Value& value) const { place_.check(place_.host->add_output(place_.host->self, place_.call, value.handle())); }
  void output(const NewTensor& tensor) const { output(tensor.value); }
  void output(const Link& link) const {
    place_.check(place_.host->add_output_link(place_.host->self, place_.call, detail::abi(link.node_id), link.slot));
  }
  template <typename T>
  requires(!std::is_base_of_v<Value, T>) void output(const T& from) const { output(make(from)); }
  // One blocker in the place of all outputs.
  void block_all() const { place_.check(place_.host->block_all(place_.host->self, place_.call, {nullptr, 0})); }
  void block_all(std::string_view message) const { place_.check(place_.host->block_all(place_.host->self, place_.call, detail::abi(message))); }
  // The record for the editor: members that are lists, e.g. {"text", Json::list({"done"})}.
  void ui(const std::vector<Json::Member>& members) const {
    const Json json = Json::object(members);
    place_.check(place_.host->set_ui(place_.host->self, place_.call, detail::abi(json.text())));
  }
  // A node of the sub-graph that this one becomes; `output` links to it.
  GraphNode expand(std::string_view class_type, std::string_view local_id = {}) const {
    return {place_, place_.get<uint32_t>(place_.host->graph_node, detail::abi(class_type), detail::abi(local_id))};
  }
  // Throws Error for an id that is none.
  ViewedNode view(std::string_view id) const;

  // --- On the way. Each throws when the job was asked to stop ---
  void progress(int64_t value, int64_t max) const { report(static_cast<double>(value), static_cast<double>(max), 1); }
  void progress(double value, double max) const { report(value, max, 0); }
  void preview(int64_t value, int64_t max, const Value& image, std::string_view format = "JPEG", int32_t max_size = 512) const {
    place_.check(place_.host->preview(place_.host->self, place_.call, static_cast<double>(value), static_cast<double>(max), 1, image.handle(),
                                      detail::abi(format), max_size));
  }
  void progress_text(std::string_view text) const { place_.check(place_.host->progress_text(place_.host->self, place_.call, detail::abi(text))); }
  bool cancelled() const { return place_.host->cancelled(place_.host->self, place_.call) != 0; }
  // For work that takes long without progress.
  void check_cancelled() const {
    if (cancelled()) throw Error(VENEER_CANCELLED, "the job was cancelled");
  }

  // --- Answers of the other functions ---
  void need(std::string_view input) const { place_.check(place_.host->need(place_.host->self, place_.call, detail::abi(input))); }
  void fingerprint(const Json& json) const { place_.check(place_.host->set_fingerprint(place_.host->self, place_.call, detail::abi(json.text()))); }
  void refuse(std::string_view reason) const { place_.check(place_.host->refuse(place_.host->self, place_.call, detail::abi(reason))); }

  // --- Where the node stands ---
  std::string node_id() const { return std::string(detail::view(place_.host->node_id(place_.host->self, place_.call))); }
  std::string prompt_id() const { return std::string(detail::view(place_.host->prompt_id(place_.host->self, place_.call))); }
  std::string prompt_json() const { return std::string(detail::view(place_.get<VeneerText>(place_.host->prompt_json))); }
  std::string extra_pnginfo_json() const { return std::string(detail::view(place_.get<VeneerText>(place_.host->extra_pnginfo_json))); }
  // Kept from prompt to prompt while a node of this id and class stays in the graph. Copies of the call in a list mapping share it.
  template <typename T>
  T& state() const {
    return *static_cast<T*>(place_.get<void*>(
        place_.host->state, +[](void*) -> void* { return new T(); }, static_cast<void*>(nullptr), +[](void* made) { delete static_cast<T*>(made); }));
  }

  const detail::Place& place() const { return place_; }

 private:
  template <typename Function, typename... Arguments>
  Value made(Function function, Arguments... arguments) const {
    return {place_, place_.get<VeneerValue>(function, arguments...)};
  }
  void report(double value, double max, int32_t whole) const {
    place_.check(place_.host->progress(place_.host->self, place_.call, value, max, whole));
  }

  detail::Place place_;
};

inline NewTensor Call::tensor(std::string_view type, const std::vector<int64_t>& shape, int32_t dtype) const {
  VeneerValue handle = 0;
  void* data = nullptr;
  place_.check(place_.host->make_tensor(place_.host->self, place_.call, detail::abi(type), dtype, shape.data(), static_cast<int32_t>(shape.size()),
                                        &handle, &data));
  NewTensor made{.value = Value(place_, handle), .floats = {}, .bytes = {}};
  const size_t size_bytes = made.value.tensor().bytes().size();
  made.bytes = {static_cast<std::byte*>(data), size_bytes};
  if (dtype == VENEER_F32) made.floats = {static_cast<float*>(data), size_bytes / sizeof(float)};
  return made;
}

inline ViewedNode Call::view(std::string_view id) const {
  ViewedNode node;
  VeneerText class_type{};
  size_t count = 0;
  place_.check(place_.host->view_node(place_.host->self, place_.call, detail::abi(id), &class_type, &count));
  node.class_type = detail::view(class_type);
  for (size_t i = 0; i < count; ++i) {
    VeneerText name{};
    VeneerText from{};
    int32_t slot = 0;
    VeneerValue constant = 0;
    place_.check(place_.host->view_input(place_.host->self, place_.call, detail::abi(id), i, &name, &from, &slot, &constant));
    ViewedNode::Input input{.name = std::string(detail::view(name)), .link = {}, .constant = Value(place_, constant)};
    if (from.data != nullptr) input.link = Link{std::string(detail::view(from)), slot};
    node.inputs.push_back(std::move(input));
  }
  return node;
}

}  // namespace veneer::plugin

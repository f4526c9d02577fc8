// Node: the typed description of a node class and its functions, in chained calls.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veneer/plugin_call.h"
#include "veneer/plugin_json.h"

namespace veneer::plugin {

// One input. Made by the functions below, then refined: number("cfg", 8.0).range(0, 100).step(0.1).optional().
class Input {
 public:
  Input(const std::string& name, const std::string& type) : members_{{"name", Json(name)}, {"type", Json(type)}} {}
  Input(const std::string& name, const std::vector<std::string>& choices) : members_{{"name", Json(name)}, {"choices", Json::list(choices)}} {}

  Input optional() && { return section("optional"); }
  Input hidden() && { return section("hidden"); }
  template <typename T>
  Input range(T min, T max) && {
    return std::move(*this).option("min", Json(min)).option("max", Json(max));
  }
  template <typename T>
  Input step(T step) && {
    return std::move(*this).option("step", Json(step));
  }
  Input with_default(const Json& value) && { return std::move(*this).option("default", value); }
  Input tip(std::string_view text) && { return std::move(*this).option("tooltip", Json(text)); }
  // Evaluated only when `check_lazy` asks for it.
  Input lazy() && { return std::move(*this).option("lazy", Json(true)); }
  // The node gets the link itself, [id, slot] as JSON, not the value.
  Input raw_link() && { return std::move(*this).option("rawLink", Json(true)); }
  // A socket in the editor although its type has a widget.
  Input force_input() && { return std::move(*this).option("forceInput", Json(true)); }
  Input multiline() && { return std::move(*this).option("multiline", Json(true)); }
  // Any other member of the options in /object_info, e.g. "display".
  Input option(std::string name, Json value) && {
    options_.emplace_back(std::move(name), std::move(value));
    has_options_ = true;
    return std::move(*this);
  }
  // An options object although there is nothing in it.
  Input with_options() && {
    has_options_ = true;
    return std::move(*this);
  }

  Json json() const {
    std::vector<Json::Member> all = members_;
    if (has_options_) all.emplace_back("options", Json::object(options_));
    return Json::object(all);
  }

 private:
  Input section(const char* name) {
    members_.emplace_back("section", Json(name));
    return std::move(*this);
  }

  std::vector<Json::Member> members_;
  std::vector<Json::Member> options_;
  bool has_options_ = false;
};

// A type of a socket: "IMAGE", "MODEL", a name of the plug-in's own, several joined by commas, or "*".
inline Input socket(const std::string& name, const std::string& type) { return {name, type}; }
inline Input image(const std::string& name) { return socket(name, "IMAGE"); }
inline Input integer(const std::string& name, int64_t default_value) { return Input(name, "INT").with_default(Json(default_value)); }
inline Input number(const std::string& name, double default_value) { return Input(name, "FLOAT").with_default(Json(default_value)); }
inline Input text(const std::string& name, std::string_view default_value = "") { return Input(name, "STRING").with_default(Json(default_value)); }
inline Input boolean(const std::string& name, bool default_value) { return Input(name, "BOOLEAN").with_default(Json(default_value)); }
inline Input choice(const std::string& name, const std::vector<std::string>& choices) { return {name, choices}; }
// A hidden input that makes the node's own id a part of what its result depends on.
inline Input unique_id(const std::string& name = "unique_id") { return Input(name, "UNIQUE_ID").hidden(); }

using Function = std::function<void(Call&)>;

class Node {
 public:
  explicit Node(const std::string& class_type) : members_{{"class", Json(class_type)}} {}

  Node display_name(std::string_view name) && { return set("display_name", Json(name)); }
  Node category(std::string_view name) && { return set("category", Json(name)); }
  Node help(std::string_view text) && { return set("description", Json(text)); }
  Node input(const Input& input) && {
    inputs_.push_back(input.json());
    return std::move(*this);
  }
  Node inputs(const std::vector<Input>& inputs) && {
    for (const Input& each : inputs) inputs_.push_back(each.json());
    return std::move(*this);
  }
  Node output(std::string_view type, std::string_view name = {}) && { return add_output(type, name, false); }
  // The node hands over a list, of which each element runs through what comes behind.
  Node list_output(std::string_view type, std::string_view name = {}) && { return add_output(type, name, true); }
  // A reason to run: it saves, shows, ...
  Node output_node() && { return set("output_node", Json(true)); }
  // Called once with whole lists.
  Node takes_lists() && { return set("input_is_list", Json(true)); }
  // Undeclared links are handed over too.
  Node accepts_any_input() && { return set("accepts_any_input", Json(true)); }
  // Equal nodes are not one.
  Node not_idempotent() && { return set("not_idempotent", Json(true)); }
  // `run` may be called on a thread of its own, beside other nodes and beside itself.
  Node asynchronous() && { return set("async", Json(true)); }
  Node deprecated() && { return set("deprecated", Json(true)); }
  Node experimental() && { return set("experimental", Json(true)); }

  Node run(Function function) && { return functions_->run = std::move(function), std::move(*this); }
  // Asked before each run which lazy inputs are needed besides: Call::need.
  Node check_lazy(Function function) && { return functions_->check_lazy = std::move(function), std::move(*this); }
  // Asked once per prompt for what changes when the result would: Call::fingerprint. Links are none.
  Node change_fingerprint(Function function) && { return functions_->change_fingerprint = std::move(function), std::move(*this); }
  // The class's own check when a prompt is posted: Call::refuse. It replaces range and choice checks of the inputs named. Links are none.
  Node validate(const std::vector<std::string>& inputs, Function function) && {
    functions_->validate = std::move(function);
    return set("validates", Json::object({{"inputs", Json::list(inputs)}}));
  }
  // The same, and it looks at the types of links itself (Call::input_type) in the place of the usual comparison.
  Node validate_types(const std::vector<std::string>& inputs, Function function) && {
    functions_->validate = std::move(function);
    return set("validates", Json::object({{"inputs", Json::list(inputs)}, {"input_types", Json(true)}}));
  }
  // The same for all inputs there are.
  Node validate_all(Function function) && {
    functions_->validate = std::move(function);
    return set("validates", Json::object({{"all", Json(true)}}));
  }

  std::string description() const {
    std::vector<Json::Member> all = members_;
    all.emplace_back("inputs", Json::list(inputs_));
    all.emplace_back("outputs", Json::list(outputs_));
    return Json::object(all).text();
  }

  // For Pack::add: the functions in the border's form, which then own themselves.
  VeneerNode release_functions(const VeneerHost* host) {
    functions_->host = host;
    VeneerNode node{};
    node.size = sizeof node;
    if (functions_->run) node.run = call<&Functions::run>;
    if (functions_->check_lazy) node.check_lazy = call<&Functions::check_lazy>;
    if (functions_->change_fingerprint) node.change_fingerprint = call<&Functions::change_fingerprint>;
    if (functions_->validate) node.validate = call<&Functions::validate>;
    node.destroy = [](void* user) { delete static_cast<Functions*>(user); };
    node.user = functions_.release();
    return node;
  }

 private:
  struct Functions {
    const VeneerHost* host = nullptr;
    Function run, check_lazy, change_fingerprint, validate;
  };

  static int32_t failed(const VeneerHost* host, VeneerCall id, int32_t status, std::string_view reason) noexcept {
    host->set_error(host->self, id, detail::abi(reason));
    return status;
  }

  // What crosses the border: no exception.
  template <Function Functions::*kMember>
  static int32_t call(void* user, VeneerCall id) noexcept {
    const Functions& functions = *static_cast<const Functions*>(user);
    try {
      Call one(functions.host, id);
      (functions.*kMember)(one);
      return VENEER_OK;
    } catch (const Error& error) {
      return failed(functions.host, id, error.status() == VENEER_OK ? static_cast<int32_t>(VENEER_INTERNAL) : error.status(), error.what());
    } catch (const std::bad_alloc&) {
      return failed(functions.host, id, VENEER_NO_MEMORY, "not enough memory");
    } catch (const std::exception& error) {
      return failed(functions.host, id, VENEER_INTERNAL, error.what());
    } catch (...) {
      return failed(functions.host, id, VENEER_INTERNAL, "the node threw something that is no exception");
    }
  }

  Node set(std::string member, Json value) {
    members_.emplace_back(std::move(member), std::move(value));
    return std::move(*this);
  }
  Node add_output(std::string_view type, std::string_view name, bool is_list) {
    std::vector<Json::Member> output = {{"type", Json(type)}};
    if (!name.empty()) output.emplace_back("name", Json(name));
    if (is_list) output.emplace_back("is_list", Json(true));
    outputs_.push_back(Json::object(output));
    return std::move(*this);
  }

  std::vector<Json::Member> members_;
  std::vector<Json> inputs_, outputs_;
  std::unique_ptr<Functions> functions_ = std::make_unique<Functions>();
};

}  // namespace veneer::plugin

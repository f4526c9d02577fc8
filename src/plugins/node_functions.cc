#include "plugins/node_functions.h"

#include <exception>

#include "plugins/in_call.h"
#include "plugins/tensor_types.h"

namespace veneer::plugins {
namespace {

using graph::Environment;
using graph::Inputs;
using graph::Json;
using graph::NodeContext;
using graph::NodeDef;
using graph::NodeResult;
using graph::Value;

ErrorCode code_of(int32_t status) {
  switch (status) {
    case VENEER_INVALID: return ErrorCode::invalid;
    case VENEER_NOT_FOUND: return ErrorCode::not_found;
    case VENEER_CORRUPT: return ErrorCode::corrupt;
    case VENEER_UNSUPPORTED: return ErrorCode::unsupported;
    case VENEER_NO_MEMORY: return ErrorCode::no_memory;
    case VENEER_CANCELLED: return ErrorCode::cancelled;
    default: return ErrorCode::internal;
  }
}

// One class of a plug-in, shared by the functions of its NodeDef.
struct PluginNode {
  std::shared_ptr<Session> session;
  std::shared_ptr<NodeFunctions> functions;
  NodeDef def;  // the description alone

  // Ends the call however the scope is left.
  class OpenCall {
   public:
    OpenCall(Session& session, std::shared_ptr<CallState> state) : session_(session), state_(std::move(state)) {}
    ~OpenCall() { session_.close(*state_); }
    OpenCall(const OpenCall&) = delete;
    OpenCall& operator=(const OpenCall&) = delete;

   private:
    Session& session_;
    std::shared_ptr<CallState> state_;
  };

  using Function = int32_t (*)(void*, VeneerCall);
  // Calls the function and throws what it ended with. Afterwards the handles are void and nobody else touches the state.
  std::shared_ptr<CallState> call(Function function, Phase phase, const Inputs& inputs, NodeContext* context,
                                  const std::map<std::string, std::string>* input_types = nullptr) const {
    std::shared_ptr<CallState> state = session->open(phase, def, inputs, context, input_types);
    int32_t status = VENEER_INTERNAL;
    {
      const OpenCall open(*session, state);
      status = guarded(function, state->id);
    }
    if (status == VENEER_OK) return state;
    // A job that was asked to stop did stop, whatever the plug-in made of it.
    if (context != nullptr) context->cancel().check();
    std::string reason = state->error.empty() ? "the node failed without a reason" : state->error;
    const ErrorCode code = code_of(status);
    throw Error(code == ErrorCode::cancelled ? ErrorCode::internal : code, std::move(reason));
  }

 private:
  int32_t guarded(Function function, VeneerCall id) const {
    try {
      return function(functions->node().user, id);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      throw Error(ErrorCode::internal, error.what());
    } catch (...) {
      throw Error(ErrorCode::internal, "the node threw something that is no exception");
    }
  }
};

void check_result(const NodeDef& def, const NodeResult& result) {
  if (result.blocks_all) {
    if (result.outputs.size() != 1) throw Error(ErrorCode::invalid, "the node gave outputs beside the blocker for all of them");
    return;
  }
  const size_t want = def.outputs.size();
  const size_t got = result.outputs.size();
  if (got != want && !(def.output_node && got == 0)) {
    throw Error(ErrorCode::invalid, "the node gave another number of outputs than it declares",
                {{"want", std::to_string(want)}, {"got", std::to_string(got)}});
  }
  for (size_t i = 0; i < got; ++i) {
    const auto* value = std::get_if<Value>(&result.outputs[i]);
    if (value == nullptr) continue;
    const graph::OutputDef& output = def.outputs[i];
    const std::string name = std::to_string(i) + " (" + (output.name.empty() ? output.type : output.name) + ")";
    if (!output.is_list || value->is_blocker()) {
      check_type(*value, output.type, name);
      continue;
    }
    if (!value->is_list())
      throw Error(ErrorCode::invalid, "graph: a list output takes a list", {{"output", name}, {"got", std::string(value->type())}});
    for (const Value& each : value->as_list()) check_type(each, output.type, name);
  }
}

NodeResult run(const PluginNode& node, NodeContext& context, const Inputs& inputs) {
  const std::shared_ptr<CallState> call = node.call(node.functions->node().run, Phase::run, inputs, &context);
  NodeResult result = std::move(call->result);
  if (call->graph) result.expansion = call->graph->finish();
  check_result(node.def, result);
  return result;
}

}  // namespace

NodeDef make_node(std::shared_ptr<Session> session, DescribedNode described, const std::string& plugin) {
  described.def.module = "custom_nodes." + plugin;
  auto node = std::make_shared<PluginNode>();
  node->session = std::move(session);
  node->functions = std::move(described.functions);
  node->def = described.def;
  NodeDef def = std::move(described.def);
  const VeneerNode& functions = node->functions->node();
  def.run = [node](NodeContext& context, const Inputs& inputs) { return run(*node, context, inputs); };
  if (functions.check_lazy != nullptr) {
    def.check_lazy_status = [node](NodeContext& context, const Inputs& inputs) {
      return std::move(node->call(node->functions->node().check_lazy, Phase::check_lazy, inputs, &context)->needed);
    };
  }
  if (functions.change_fingerprint != nullptr) {
    def.change_fingerprint = [node](const Environment&, const Inputs& inputs) -> Json {
      return std::move(node->call(node->functions->node().change_fingerprint, Phase::change_fingerprint, inputs, nullptr)->fingerprint);
    };
  }
  if (functions.validate != nullptr) {
    def.validator.check = [node](const Environment&, const Inputs& inputs, const std::map<std::string, std::string>& input_types) {
      return node->call(node->functions->node().validate, Phase::validate, inputs, nullptr, &input_types)->refusal;
    };
  }
  return def;
}

}  // namespace veneer::plugins

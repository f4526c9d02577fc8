#include "plugins/session.h"

#include "plugins/host_table.h"
#include "veneer/error.h"

namespace veneer::plugins {

Session::Session() : host_(host_table(this)) {}

void Session::describe(DescribedNode node) {
  const std::lock_guard lock(mutex_);
  described_.push_back(std::move(node));
}

void Session::refuse(std::string reason) {
  const std::lock_guard lock(mutex_);
  if (refusal_.empty()) refusal_ = std::move(reason);
}

std::vector<DescribedNode> Session::take_described() {
  describing_ = false;
  const std::lock_guard lock(mutex_);
  std::vector<DescribedNode> nodes = std::exchange(described_, {});
  if (!refusal_.empty()) throw Error(ErrorCode::invalid, refusal_);
  return nodes;
}

std::shared_ptr<CallState> Session::open(Phase phase, const graph::NodeDef& def, const graph::Inputs& inputs, graph::NodeContext* context,
                                         const std::map<std::string, std::string>* input_types) {
  auto call = std::make_shared<CallState>(next_call_++, phase, def, inputs);
  call->context = context;
  call->input_types = input_types;
  const std::lock_guard lock(mutex_);
  calls_.emplace(call->id, call);
  return call;
}

void Session::close(CallState& call) {
  {
    const std::lock_guard lock(mutex_);
    calls_.erase(call.id);
  }
  const std::lock_guard lock(call.mutex);
  call.closed = true;
}

std::shared_ptr<CallState> Session::find(VeneerCall id) {
  const std::lock_guard lock(mutex_);
  const auto it = calls_.find(id);
  return it == calls_.end() ? nullptr : it->second;
}

}  // namespace veneer::plugins

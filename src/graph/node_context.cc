#include "graph/node_context.h"

namespace veneer::graph {
namespace {
const Json& null_json() {
  static const Json kNull;
  return kNull;
}
}  // namespace

const Json& NodeContext::prompt() const { return host_ == nullptr ? null_json() : host_->prompt(); }

const Json& NodeContext::extra_pnginfo() const { return host_ == nullptr ? null_json() : host_->extra_pnginfo(); }

const GraphView& NodeContext::graph() const {
  if (host_ == nullptr) throw Error(ErrorCode::internal, "graph: the node runs outside of a graph");
  return host_->graph();
}

void NodeContext::progress(int64_t value, int64_t max, std::optional<Preview> preview) const {
  progress(Progress{static_cast<double>(value), static_cast<double>(max), true, std::move(preview)});
}

void NodeContext::progress(const Progress& step) const {
  cancel_.check();
  if (host_ != nullptr) host_->progress(node_, step);
}

void NodeContext::progress_text(const std::string& text) const {
  if (host_ != nullptr) host_->progress_text(node_, text);
}

std::shared_ptr<void> NodeContext::state_of(std::type_index type, std::shared_ptr<void> (*make)()) {
  if (host_ != nullptr) return host_->state(node_, type, make);
  for (const auto& [known, state] : own_state_) {
    if (known == type) return state;
  }
  return own_state_.emplace_back(type, make()).second;
}

}  // namespace veneer::graph

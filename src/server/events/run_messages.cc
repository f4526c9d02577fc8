#include "server/events/run_messages.h"

#include "engine/picture.h"
#include "graph/json_text.h"
#include "jobs/clock.h"
#include "server/events/messages.h"

namespace veneer::server {

using graph::Json;
using graph::NodeRef;

RunMessages::RunMessages(Hub& hub, const jobs::Job& job, int preview_side, bool plain_previews)
    : hub_(hub), client_(job.client_id), prompt_id_(job.id), preview_side_(preview_side), plain_previews_(plain_previews), book_(job.id) {}

RunMessages::~RunMessages() {
  if (!client_.empty()) hub_.set_running(client_, "");
}

void RunMessages::send(const char* type, const Json& data) const {
  if (heard()) hub_.send(client_, message(type, data));
}

void RunMessages::send_to_owner_or_all(const Outgoing& message) const {
  if (client_.empty()) {
    hub_.broadcast(message);
  } else {
    hub_.send(client_, message);
  }
}

void RunMessages::send_state() const {
  if (hub_.wants_preview(client_)) send_to_owner_or_all(message_of_text("progress_state", book_.data()));
}

void RunMessages::execution_start(const std::string& prompt_id) {
  send("execution_start", Json{{"prompt_id", prompt_id}, {"timestamp", jobs::now_ms()}});
}

void RunMessages::execution_cached(const std::string& prompt_id, const std::vector<std::string>& nodes) {
  send("execution_cached", Json{{"nodes", nodes}, {"prompt_id", prompt_id}, {"timestamp", jobs::now_ms()}});
}

void RunMessages::executing(const NodeRef& node) {
  book_.started(node);
  send_state();
  if (!client_.empty()) hub_.set_running(client_, node.node_id);
  send("executing", Json{{"node", node.node_id}, {"display_node", node.display_node_id}, {"prompt_id", prompt_id_}});
}

void RunMessages::progress(const NodeRef& node, const graph::Progress& progress) {
  book_.reported(node, progress);
  send_state();
  if (!hub_.wants_preview(client_)) return;
  std::string picture;
  const auto encoded = [&]() -> const std::string& {
    if (picture.empty()) picture = engine::encode_preview(*progress.preview, progress.preview->max_size == 0 ? 0 : preview_side_);
    return picture;
  };
  if (progress.preview) {
    hub_.send_preview(client_, Hub::PreviewForm::with_metadata,
                      [&] { return preview_frame_with_metadata(encoded(), progress.preview->format, node, prompt_id_); });
  }
  const auto number = [&](double value) { return progress.integral ? Json(static_cast<int64_t>(value)) : Json(value); };
  const Json data = {{"value", number(progress.value)}, {"max", number(progress.max)}, {"prompt_id", prompt_id_}, {"node", node.node_id}};
  send_to_owner_or_all(message("progress", data));
  // A picture without a largest size is a node's result, and not a sampler's preview.
  if (progress.preview && (plain_previews_ || progress.preview->max_size == 0)) {
    hub_.send_preview(client_, Hub::PreviewForm::plain, [&] { return preview_frame(encoded(), progress.preview->format); });
  }
}

void RunMessages::progress_text(const NodeRef& node, const std::string& text) {
  if (hub_.wants_preview(client_)) send_to_owner_or_all(text_frame(node.node_id, text));
}

void RunMessages::executed(const NodeRef& node, const Json& ui, bool /*cached*/) {
  send("executed", Json{{"node", node.node_id}, {"display_node", node.display_node_id}, {"output", ui}, {"prompt_id", prompt_id_}});
}

void RunMessages::node_finished(const NodeRef& node, bool cached) {
  book_.finished(node, cached);
  send_state();
}

void RunMessages::execution_error(const graph::ExecutionErrorEvent& error) {
  Json data = error.to_json();
  data["timestamp"] = jobs::now_ms();
  send("execution_error", data);
}

void RunMessages::execution_interrupted(const graph::ExecutionInterruptedEvent& event) {
  Json data = event.to_json();
  data["timestamp"] = jobs::now_ms();
  send_to_owner_or_all(message("execution_interrupted", data));
}

void RunMessages::execution_success(const std::string& prompt_id) {
  send("execution_success", Json{{"prompt_id", prompt_id}, {"timestamp", jobs::now_ms()}});
}

}  // namespace veneer::server

#include "server/events/progress_book.h"

#include "jobs/wire.h"

namespace veneer::server {
namespace {

constexpr size_t kWholeState = 256;

std::string number_text(double value, bool integral) {
  return integral ? std::to_string(static_cast<int64_t>(value)) : jobs::wire_text(graph::Json(value));
}

}  // namespace

ProgressBook::Entry& ProgressBook::entry(const graph::NodeRef& node) {
  const auto [at, fresh] = index_.try_emplace(node.node_id, entries_.size());
  if (fresh) entries_.emplace_back().node = node;
  changed_ = at->second;
  return entries_[changed_];
}

void ProgressBook::started(const graph::NodeRef& node) {
  Entry& e = entry(node);
  e.value = "0.0";
  e.max = "1.0";
  e.running = true;
  write(e);
}

void ProgressBook::reported(const graph::NodeRef& node, const graph::Progress& progress) {
  Entry& e = entry(node);
  e.value = number_text(progress.value, progress.integral);
  e.max = number_text(progress.max, progress.integral);
  e.running = true;
  write(e);
}

void ProgressBook::finished(const graph::NodeRef& node, bool cached) {
  Entry& e = entry(node);
  if (cached) e.max = "1";
  e.value = e.max;
  e.running = false;
  write(e);
}

void ProgressBook::write(Entry& e) const {
  using jobs::wire_text;
  const graph::NodeRef& node = e.node;
  const std::string id = wire_text(node.node_id);
  e.text = id + ": {\"value\": " + e.value + ", \"max\": " + e.max + ", \"state\": \"" + (e.running ? "running" : "finished") +
           "\", \"node_id\": " + id + ", \"prompt_id\": " + wire_text(prompt_id_) + ", \"display_node_id\": " + wire_text(node.display_node_id) +
           ", \"parent_node_id\": " + (node.parent_node_id ? wire_text(*node.parent_node_id) : "null") +
           ", \"real_node_id\": " + wire_text(node.real_node_id) + "}";
}

std::string ProgressBook::data() const {
  std::string text = "{\"prompt_id\": " + jobs::wire_text(prompt_id_) + ", \"nodes\": {";
  bool first = true;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_.size() > kWholeState && i != changed_ && !entries_[i].running) continue;
    if (!first) text += ", ";
    first = false;
    text += entries_[i].text;
  }
  return text + "}}";
}

}  // namespace veneer::server

#include "engine/job_observer.h"

#include <filesystem>

#include "formats/image_file.h"
#include "graph/json_text.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

SavedImage saved_image(const std::string& node, const graph::Json& record, const nodes::ImageFolders& folders) {
  SavedImage image;
  image.node = node;
  image.filename = record.value("filename", "");
  image.subfolder = record.value("subfolder", "");
  image.type = record.value("type", "");
  image.path = ((image.type == "temp" ? folders.temp : folders.output) / image.subfolder / image.filename).string();
  return image;
}

// The pictures in the record that a node made for the editor.
std::vector<SavedImage> saved_images(const std::string& node, const graph::Json& ui, const nodes::ImageFolders& folders) {
  std::vector<SavedImage> images;
  if (!ui.is_object() || !ui.contains("images")) return images;
  for (const graph::Json& record : ui.at("images")) images.push_back(saved_image(node, record, folders));
  return images;
}

Image read_pixels(const std::string& path) {
  formats::ImageBytes file = formats::read_image(path);
  return {static_cast<int>(file.width), static_cast<int>(file.height), file.channels, std::move(file.pixels)};
}

// The error that ended the run, with the node before what the node itself had to say.
Error error_of(const graph::ExecutionErrorEvent& event) {
  Error::Context context = {{"node", event.node_id}, {"class", event.node_type}};
  if (event.cause) {
    for (const auto& entry : event.cause->context()) {
      if (entry.first != "node" && entry.first != "class") context.push_back(entry);
    }
    return Error(event.cause->code(), event.cause->text(), std::move(context));
  }
  // Of other exceptions there is only the text, whose later lines are meant for the editor's dialogue.
  const std::string text = event.exception_message.substr(0, event.exception_message.find('\n'));
  const bool memory = event.exception_type == "OutOfMemoryError";
  const bool cycle = event.exception_type == "graph.DependencyCycleError";
  return Error(memory ? ErrorCode::no_memory : cycle ? ErrorCode::invalid : ErrorCode::internal, memory ? "out of memory" : text, std::move(context));
}

}  // namespace

void JobObserver::executing(const graph::NodeRef& node) {
  begin_span(node);
  tell(ProgressEvent::Kind::node_started, node);
}

void JobObserver::progress(const graph::NodeRef& node, const graph::Progress& progress) {
  tell(ProgressEvent::Kind::step, node, static_cast<int>(progress.value), static_cast<int>(progress.max));
}

void JobObserver::progress_text(const graph::NodeRef& node, const std::string& text) {
  result_.reports.push_back("node " + node.node_id + ": " + text);
}

void JobObserver::executed(const graph::NodeRef& node, const graph::Json& ui, bool /*cached*/) {
  if (!options_.on_saved) return;
  for (const SavedImage& image : saved_images(node.node_id, ui, folders_)) options_.on_saved(image);
}

void JobObserver::node_finished(const graph::NodeRef& node, bool cached) {
  if (span_ && span_->node_id == node.node_id) end_span();
  ++(cached ? result_.nodes_cached : result_.nodes_run);
  tell(cached ? ProgressEvent::Kind::node_cached : ProgressEvent::Kind::node_finished, node);
}

JobResult JobObserver::finish(const graph::ExecutionResult& run) {
  if (run.status == graph::ExecutionStatus::interrupted) throw Error(ErrorCode::cancelled, "the job was cancelled");
  if (run.error) throw error_of(*run.error);
  graph::Json outputs = graph::Json::object();
  for (const graph::UiRecord& record : run.records) {
    outputs[record.node_id] = record.ui;
    for (SavedImage& image : saved_images(record.node_id, record.ui, folders_)) {
      if (options_.keep_pixels) image.pixels = read_pixels(image.path);
      result_.images.push_back(std::move(image));
    }
  }
  result_.outputs_json = graph::dump_json(outputs);
  return std::move(result_);
}

// Spans of one thread must not cross: where nodes wait for others, each has the time until the next one begins.
void JobObserver::begin_span(const graph::NodeRef& node) {
  if (profile_ == nullptr) return;
  if (span_) end_span();
  span_ = node;
  span_begin_ns_ = profile_->now_ns();
}

void JobObserver::end_span() {
  profile_->add_until_now(ProfileKind::node, span_->class_type, span_->node_id, span_begin_ns_);
  span_.reset();
}

void JobObserver::tell(ProgressEvent::Kind kind, const graph::NodeRef& node, int step, int steps) {
  if (options_.on_progress) options_.on_progress({.kind = kind, .node = node.node_id, .class_type = node.class_type, .step = step, .steps = steps});
}

}  // namespace veneer::engine

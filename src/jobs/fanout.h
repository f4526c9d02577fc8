// Fanout: several observers of one run, told in their order.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "graph/execution_observer.h"

namespace veneer::jobs {

// The observers have to outlive it.
class Fanout : public graph::ExecutionObserver {
 public:
  // `public_text`, where given, says what observers are told of the text of errors.
  using PublicText = std::function<std::string(const std::string&)>;
  explicit Fanout(std::vector<graph::ExecutionObserver*> observers, PublicText public_text = nullptr)
      : observers_(std::move(observers)), public_text_(std::move(public_text)) {}
  void execution_start(const std::string& prompt_id) override {
    for (auto* o : observers_) o->execution_start(prompt_id);
  }
  void execution_cached(const std::string& prompt_id, const std::vector<std::string>& nodes) override {
    for (auto* o : observers_) o->execution_cached(prompt_id, nodes);
  }
  void executing(const graph::NodeRef& node) override {
    for (auto* o : observers_) o->executing(node);
  }
  void progress(const graph::NodeRef& node, const graph::Progress& progress) override {
    for (auto* o : observers_) o->progress(node, progress);
  }
  void progress_text(const graph::NodeRef& node, const std::string& text) override {
    for (auto* o : observers_) o->progress_text(node, text);
  }
  void executed(const graph::NodeRef& node, const graph::Json& ui, bool cached) override {
    for (auto* o : observers_) o->executed(node, ui, cached);
  }
  void node_finished(const graph::NodeRef& node, bool cached) override {
    for (auto* o : observers_) o->node_finished(node, cached);
  }
  void execution_error(const graph::ExecutionErrorEvent& error) override {
    if (!public_text_) return tell(error);
    graph::ExecutionErrorEvent told = error;
    told.exception_message = public_text_(error.exception_message);
    for (std::string& line : told.traceback) line = public_text_(line);
    tell(told);
  }
  void execution_interrupted(const graph::ExecutionInterruptedEvent& event) override {
    for (auto* o : observers_) o->execution_interrupted(event);
  }
  void execution_success(const std::string& prompt_id) override {
    for (auto* o : observers_) o->execution_success(prompt_id);
  }
  void remark(const graph::NodeRef& node, const std::string& text) override {
    for (auto* o : observers_) o->remark(node, text);
  }

 private:
  void tell(const graph::ExecutionErrorEvent& error) const {
    for (auto* o : observers_) o->execution_error(error);
  }
  std::vector<graph::ExecutionObserver*> observers_;
  PublicText public_text_;
};

}  // namespace veneer::jobs

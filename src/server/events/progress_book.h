// ProgressBook: how far the nodes of one run are, as `progress_state` tells it.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "graph/execution_observer.h"

namespace veneer::server {

// One run, one call at a time.
class ProgressBook {
 public:
  explicit ProgressBook(std::string prompt_id) : prompt_id_(std::move(prompt_id)) {}

  void started(const graph::NodeRef& node);
  void reported(const graph::NodeRef& node, const graph::Progress& progress);
  void finished(const graph::NodeRef& node, bool cached);

  // The data of the message: every node that has begun. Of runs with many nodes only those that run, and the one that changed last: the whole
  // would grow with the square of the nodes.
  std::string data() const;

 private:
  struct Entry {
    graph::NodeRef node;
    std::string value = "0.0", max = "1.0";
    bool running = true;
    std::string text;  // the member of `nodes`
  };
  Entry& entry(const graph::NodeRef& node);
  void write(Entry& entry) const;

  std::string prompt_id_;
  std::vector<Entry> entries_;  // in order of their start
  std::unordered_map<std::string, size_t> index_;
  size_t changed_ = 0;
};

}  // namespace veneer::server

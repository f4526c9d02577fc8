// ResultCache: results of nodes, kept under the key of what they depend on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/fingerprint.h"
#include "graph/node_context.h"
#include "graph/value.h"

namespace veneer::graph {

// What a node left behind. One list per output: an ordinary output has one element per call, a list output all its elements.
struct NodeOutcome {
  std::vector<std::vector<Value>> outputs;
  Json ui;            // null for none
  NodeRef ui_origin;  // the node that made the record; an equal node that took it over still names that one
};
using Outcome = std::shared_ptr<const NodeOutcome>;

struct CachePolicy {
  enum class Kind : uint8_t { classic, lru, none };
  Kind kind = Kind::classic;
  size_t capacity = 0;  // lru: results kept over prompts
  static CachePolicy classic() { return {}; }
  static CachePolicy lru(size_t capacity) { return {Kind::lru, capacity}; }
  static CachePolicy none() { return {Kind::none, 0}; }
};

// Not thread-safe. A generation is one prompt.
class ResultCache {
 public:
  explicit ResultCache(CachePolicy policy) : policy_(policy) {}
  const CachePolicy& policy() const { return policy_; }

  // Begins a prompt whose nodes have these keys, and drops what the policy does not keep. Results of expansions' nodes are kept while their
  // outermost parent, named by `owners`, is in the prompt.
  void begin(const std::vector<Fingerprint>& keys, const std::unordered_set<std::string>& owners);
  // Ends it. Results of nodes that `ran` (owners again) made in earlier prompts and did not use in this one are dropped.
  void end(const std::unordered_set<std::string>& ran);

  // nullptr when unknown. Marks the entry as used in this generation.
  Outcome find(const Fingerprint& key);
  // `owner` is "" for nodes of the prompt.
  void store(const Fingerprint& key, Outcome outcome, const std::string& owner);
  void drop(const Fingerprint& key) { entries_.erase(key); }
  // Drops every result with an output for which `which` says so.
  template <typename Which>
  void drop_if(const Which& which) {
    std::erase_if(entries_, [&](const auto& item) {
      for (const std::vector<Value>& output : item.second.outcome->outputs) {
        for (const Value& value : output) {
          if (which(value)) return true;
        }
      }
      return false;
    });
  }
  void clear() { entries_.clear(); }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Outcome outcome;
    uint64_t used = 0;  // generation
    std::string owner;
  };
  void evict_oldest();

  CachePolicy policy_;
  uint64_t generation_ = 0;
  std::unordered_map<Fingerprint, Entry> entries_;
};

}  // namespace veneer::graph

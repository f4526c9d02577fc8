// Where the value of an input comes from, behind all that exists in the editor only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/editor/editor_scopes.h"

namespace veneer::graph {

struct EditorSource {
  enum class Kind : uint8_t { nothing, output, value };
  Kind kind = Kind::nothing;
  uint32_t scope = 0, node = 0;  // output: of a node that runs
  size_t slot = 0;
  const Json* value = nullptr;  // value: of a primitive node, or of a widget that an instance of a subgraph shows
  std::string_view reason;      // nothing: why
};

// Whether the editor knows the class by itself: it never runs.
bool is_editor_only(std::string_view type);

// Follows links through reroutes, primitive nodes, bypassed nodes and the boundaries of subgraphs. What was found is kept, so that all inputs of a
// workflow together cost one step for each link. Iterative.
class EditorTracer {
 public:
  explicit EditorTracer(const std::vector<EditorScope>& scopes) : scopes_(scopes) {}

  // The source of an input of a node. An input without a link has none.
  EditorSource input(uint32_t scope, uint32_t node, size_t slot);

 private:
  enum class Place : uint8_t { input, output, boundary };  // boundary: an input of a subgraph, seen from inside
  struct At {
    Place place = Place::input;
    uint32_t scope = 0, node = 0;
    size_t slot = 0;
    bool operator==(const At&) const = default;
  };
  struct AtHash {
    size_t operator()(const At& at) const;
  };
  struct Step {
    bool done = false;
    EditorSource source;  // if done
    At next;              // else
  };
  // What the input of an instance falls back on when nothing is linked to it.
  const Json* promoted(const At& at) const;
  Step step(const At& at) const;
  Step step_output(const At& at) const;
  Step step_boundary(const At& at) const;
  Step step_link(uint32_t scope, const std::string& link) const;

  const std::vector<EditorScope>& scopes_;
  std::unordered_map<At, EditorSource, AtHash> known_;
};

}  // namespace veneer::graph

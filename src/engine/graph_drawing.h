// A graph as a picture.
#pragma once

#include <string>
#include <vector>

namespace veneer::engine {

struct DrawnNode {
  std::string id;
  std::string title;               // first line
  std::vector<std::string> lines;  // below it
  bool output = false;
  bool runs = true;
};
struct DrawnEdge {
  size_t from = 0, to = 0;  // indices of nodes
  std::string label;
};
struct Drawing {
  std::vector<DrawnNode> nodes;
  std::vector<DrawnEdge> edges;
};

// For Graphviz.
std::string to_dot(const Drawing& drawing);
// By itself: a layered layout from left to right, each node behind all that it depends on. Edges that would lead back are drawn too.
std::string to_svg(const Drawing& drawing);

}  // namespace veneer::engine

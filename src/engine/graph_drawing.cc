#include "engine/graph_drawing.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace veneer::engine {
namespace {

constexpr int kWidth = 230, kLine = 16, kHead = 24, kGapX = 70, kGapY = 22, kMargin = 20;
constexpr size_t kMostOfALine = 34;

std::string shortened(const std::string& text) {
  if (text.size() <= kMostOfALine) return text;
  size_t end = kMostOfALine - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // not within a character
  return text.substr(0, end) + "...";
}

std::string dot_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '{' || c == '}' || c == '|' || c == '<' || c == '>') out += '\\';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out;
}

std::string xml_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;  // control characters are not XML
    }
  }
  return out;
}

struct Box {
  size_t layer = 0;
  int x = 0, y = 0, height = 0;
};

// The longest path that leads to each node; nodes in cycles stay where they are first met.
std::vector<size_t> layers_of(const Drawing& drawing) {
  const size_t count = drawing.nodes.size();
  std::vector<std::vector<size_t>> readers(count);
  std::vector<size_t> waits(count, 0), layer(count, 0), ready;
  for (const DrawnEdge& edge : drawing.edges) {
    readers[edge.from].push_back(edge.to);
    ++waits[edge.to];
  }
  for (size_t i = 0; i < count; ++i) {
    if (waits[i] == 0) ready.push_back(i);
  }
  for (size_t i = 0; i < ready.size(); ++i) {
    const size_t from = ready[i];
    for (const size_t to : readers[from]) {
      layer[to] = std::max(layer[to], layer[from] + 1);
      if (--waits[to] == 0) ready.push_back(to);
    }
  }
  return layer;
}

// Nodes of each layer, moved next to what they depend on.
std::vector<std::vector<size_t>> columns_of(const Drawing& drawing, const std::vector<size_t>& layer) {
  std::vector<std::vector<size_t>> columns(drawing.nodes.empty() ? 0 : 1 + *std::ranges::max_element(layer));
  for (size_t i = 0; i < layer.size(); ++i) columns[layer[i]].push_back(i);
  std::vector<double> place(layer.size(), 0);
  std::vector<std::vector<size_t>> sources(layer.size());
  for (const DrawnEdge& edge : drawing.edges) sources[edge.to].push_back(edge.from);
  for (std::vector<size_t>& column : columns) {
    for (const size_t node : column) {
      const std::vector<size_t>& from = sources[node];
      const double sum = std::accumulate(from.begin(), from.end(), 0.0, [&](double total, size_t source) { return total + place[source]; });
      place[node] = from.empty() ? static_cast<double>(node) / static_cast<double>(layer.size()) : sum / static_cast<double>(from.size());
    }
    std::ranges::stable_sort(column, {}, [&](size_t node) { return place[node]; });
    for (size_t i = 0; i < column.size(); ++i) place[column[i]] = static_cast<double>(i);
  }
  return columns;
}

std::string box_svg(const DrawnNode& node, const Box& box) {
  const std::string at = "x=\"" + std::to_string(box.x) + "\" ";
  const char* fill = node.output ? "#dcefdc" : node.runs ? "#eef1f7" : "#f4f4f4";
  std::string out = "<rect " + at + "y=\"" + std::to_string(box.y) + "\" width=\"" + std::to_string(kWidth) + "\" height=\"" +
                    std::to_string(box.height) + "\" rx=\"6\" fill=\"" + fill + "\" stroke=\"" + (node.runs ? "#50607a" : "#b0b0b0") + "\"/>\n";
  const auto text = [&](int line, const std::string& content, const char* style) {
    out += "<text x=\"" + std::to_string(box.x + 8) + "\" y=\"" + std::to_string(box.y + 16 + line * kLine) + "\"" + style + ">" +
           xml_text(shortened(content)) + "</text>\n";
  };
  text(0, node.title, " font-weight=\"bold\"");
  for (size_t i = 0; i < node.lines.size(); ++i) text(static_cast<int>(i) + 1, node.lines[i], " fill=\"#404040\"");
  return out;
}

std::string edge_svg(const Box& from, const Box& to, const DrawnEdge& edge) {
  const int x1 = from.x + kWidth, y1 = from.y + from.height / 2, x2 = to.x, y2 = to.y + to.height / 2;
  const int bend = std::max(kGapX / 2, (x2 - x1) / 2);
  const auto point = [](int x, int y) { return std::to_string(x) + " " + std::to_string(y); };
  return "<path d=\"M" + point(x1, y1) + " C" + point(x1 + bend, y1) + " " + point(x2 - bend, y2) + " " + point(x2, y2) +
         "\" fill=\"none\" stroke=\"#8090a8\"><title>" + xml_text(edge.label) + "</title></path>\n";
}

}  // namespace

std::string to_dot(const Drawing& drawing) {
  std::string out = "digraph workflow {\n  rankdir=LR;\n  node [shape=record, fontname=\"sans-serif\", fontsize=10];\n";
  for (size_t i = 0; i < drawing.nodes.size(); ++i) {
    const DrawnNode& node = drawing.nodes[i];
    std::string label = dot_text(node.title);
    for (const std::string& line : node.lines) label += "\\n" + dot_text(line);
    out += "  n" + std::to_string(i) + " [label=\"" + label + "\"" + (node.output ? ", style=filled, fillcolor=\"#dcefdc\"" : "") +
           (node.runs ? "" : ", color=gray, fontcolor=gray") + "];\n";
  }
  for (const DrawnEdge& edge : drawing.edges) {
    out += "  n" + std::to_string(edge.from) + " -> n" + std::to_string(edge.to) + " [label=\"" + dot_text(edge.label) + "\", fontsize=8];\n";
  }
  return out + "}\n";
}

std::string to_svg(const Drawing& drawing) {
  const std::vector<size_t> layer = layers_of(drawing);
  const std::vector<std::vector<size_t>> columns = columns_of(drawing, layer);
  std::vector<Box> boxes(drawing.nodes.size());
  int width = kMargin, height = kMargin;
  for (const std::vector<size_t>& column : columns) {
    int y = kMargin;
    for (const size_t node : column) {
      boxes[node] = {layer[node], width, y, kHead + kLine * static_cast<int>(drawing.nodes[node].lines.size())};
      y += boxes[node].height + kGapY;
    }
    height = std::max(height, y);
    width += kWidth + kGapX;
  }
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(width) + "\" height=\"" + std::to_string(height) +
                    "\" font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  for (const DrawnEdge& edge : drawing.edges) out += edge_svg(boxes[edge.from], boxes[edge.to], edge);
  for (size_t i = 0; i < drawing.nodes.size(); ++i) out += box_svg(drawing.nodes[i], boxes[i]);
  return out + "</svg>\n";
}

}  // namespace veneer::engine

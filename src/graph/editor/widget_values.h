// Values of widgets as the editor saves them, by the name of the input that each one is for.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/editor/editor_graph.h"
#include "graph/editor/editor_remark.h"
#include "graph/node_def.h"

namespace veneer::graph {

struct WidgetValues {
  std::vector<std::pair<std::string, Json>> values;  // in the order of the widgets
  std::vector<EditorRemark> remarks;                 // without node and class
};

// The editor saves a list of values without names, or in some versions and classes an object. A list's order is that of the class's inputs that have
// a widget, with the editor's own widgets between them ("control_after_generate" behind a seed, the button of an upload); for a class that is not
// known (`def` is nullptr) the node's own list of inputs gives the names where it has all of them, else a remark says what could not be told.
// Declared widgets without a value get the class's default.
WidgetValues widget_values(const EditorNode& node, const NodeDef* def);

// Whether the editor shows a widget for the input rather than a socket only.
bool has_widget(const InputDef& input);

}  // namespace veneer::graph

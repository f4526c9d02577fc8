// The messages of the web socket, as the text or the bytes that go over it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "graph/json.h"
#include "graph/node_context.h"
#include "server/ws/outgoing.h"

namespace veneer::server {

// {"type": ..., "data": ...}
Outgoing message(std::string_view type, const graph::Json& data);
// `data` is JSON text already.
Outgoing message_of_text(std::string_view type, std::string_view data);

// How many jobs wait or run. `sid` (for the first message of a socket) may be empty.
Outgoing status_message(size_t remaining, const std::string& sid = "");

// Frame type 1: a picture. `format` is "JPEG" or "PNG".
Outgoing preview_frame(const std::string& picture, const std::string& format);
// Frame type 4: the same with where it comes from.
Outgoing preview_frame_with_metadata(const std::string& picture, const std::string& format, const graph::NodeRef& node, const std::string& prompt_id);
// Frame type 3: a line of text of a node.
Outgoing text_frame(const std::string& node_id, const std::string& text);

}  // namespace veneer::server

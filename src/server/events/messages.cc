#include "server/events/messages.h"

#include "jobs/wire.h"

namespace veneer::server {
namespace {

using graph::Json;

void append_u32(std::string& out, size_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>((value >> static_cast<unsigned>(shift)) & 0xFFU);
}

Outgoing preview(std::string bytes) { return {std::make_shared<const std::string>(std::move(bytes)), Outgoing::Kind::preview}; }

}  // namespace

Outgoing message_of_text(std::string_view type, std::string_view data) {
  std::string text = "{\"type\": \"";
  text.reserve(data.size() + type.size() + 24);
  text.append(type).append("\", \"data\": ").append(data).append("}");
  return outgoing_text(std::move(text));
}

Outgoing message(std::string_view type, const Json& data) { return message_of_text(type, jobs::wire_text(data)); }

Outgoing status_message(size_t remaining, const std::string& sid) {
  std::string data = "{\"status\": {\"exec_info\": {\"queue_remaining\": " + std::to_string(remaining) + "}}";
  if (!sid.empty()) data += ", \"sid\": " + jobs::wire_text(sid);
  Outgoing out = message_of_text("status", data + "}");
  out.kind = sid.empty() ? Outgoing::Kind::status : Outgoing::Kind::text;
  return out;
}

Outgoing preview_frame(const std::string& picture, const std::string& format) {
  std::string bytes;
  bytes.reserve(picture.size() + 8);
  append_u32(bytes, 1);
  append_u32(bytes, format == "PNG" ? 2 : 1);
  return preview(bytes + picture);
}

Outgoing preview_frame_with_metadata(const std::string& picture, const std::string& format, const graph::NodeRef& node,
                                     const std::string& prompt_id) {
  const Json metadata = {{"node_id", node.node_id},
                         {"prompt_id", prompt_id},
                         {"display_node_id", node.display_node_id},
                         {"parent_node_id", node.parent_node_id ? Json(*node.parent_node_id) : Json()},
                         {"real_node_id", node.real_node_id},
                         {"image_type", format == "PNG" ? "image/png" : "image/jpeg"}};
  const std::string text = jobs::wire_text(metadata);
  std::string bytes;
  bytes.reserve(picture.size() + text.size() + 8);
  append_u32(bytes, 4);
  append_u32(bytes, text.size());
  return preview(bytes + text + picture);
}

Outgoing text_frame(const std::string& node_id, const std::string& text) {
  std::string bytes;
  append_u32(bytes, 3);
  append_u32(bytes, node_id.size());
  return outgoing_binary(bytes + node_id + text);
}

}  // namespace veneer::server

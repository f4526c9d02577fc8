// What goes out over a web socket.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace veneer::server {

// One message, shared by all who get it.
struct Outgoing {
  enum class Kind : uint8_t {
    text,
    status,   // text that a later one makes worthless: the first to go when a client does not keep up
    preview,  // binary, as above
    binary,
  };
  std::shared_ptr<const std::string> data;
  Kind kind = Kind::text;
  bool is_text() const { return kind == Kind::text || kind == Kind::status; }
};

inline Outgoing outgoing_text(std::string text) { return {std::make_shared<const std::string>(std::move(text)), Outgoing::Kind::text}; }
inline Outgoing outgoing_binary(std::string bytes) { return {std::make_shared<const std::string>(std::move(bytes)), Outgoing::Kind::binary}; }

}  // namespace veneer::server

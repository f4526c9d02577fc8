#include "server/ws/ws_session.h"

#include <chrono>
#include <utility>

#include "graph/json_text.h"
#include "jobs/uuid.h"
#include "veneer/error.h"

namespace veneer::server {
namespace {

namespace websocket = beast::websocket;

constexpr size_t kMaxMessageBytes = size_t{4} << 20;
constexpr size_t kMaxIdBytes = 512;
// A client whose connection takes nothing for this long is gone.
constexpr std::chrono::seconds kSendLimit(60);

class WsSession : public Client, public std::enable_shared_from_this<WsSession> {
 public:
  WsSession(std::unique_ptr<Stream> stream, std::string id, SessionShared& shared)
      : stream_owner_(std::move(stream)),
        socket_(*stream_owner_),
        watch_(stream_owner_->get_executor()),
        shared_(shared),
        queue_(shared.send_limits),
        id_(std::move(id)) {
    ++shared_.connections;
  }
  ~WsSession() override { --shared_.connections; }

  void start(beast::http::request<beast::http::string_body> handshake) {
    handshake_ = std::move(handshake);
    websocket::permessage_deflate deflate;
    deflate.server_enable = true;
    deflate.server_max_window_bits = 12;
    deflate.memLevel = 4;
    deflate.compLevel = 1;
    socket_.set_option(deflate);
    socket_.set_option(websocket::stream_base::decorator([](websocket::response_type& answer) { answer.set(beast::http::field::server, "Veneer"); }));
    // As ComfyUI sends them: a message in one frame, which simple clients count on.
    socket_.auto_fragment(false);
    websocket::stream_base::timeout timeouts = websocket::stream_base::timeout::suggested(beast::role_type::server);
    timeouts.idle_timeout = websocket::stream_base::none();
    socket_.set_option(timeouts);
    socket_.read_message_max(kMaxMessageBytes);
    socket_.async_accept(handshake_, [self = shared_from_this()](const beast::error_code& error) { self->on_accept(error); });
  }

  void send(const Outgoing& message) override {
    switch (queue_.push(message)) {
      case SendQueue::Push::queued: break;
      case SendQueue::Push::start: asio::post(socket_.get_executor(), [self = shared_from_this()] { self->send_next(); }); break;
      case SendQueue::Push::overflow: asio::post(socket_.get_executor(), [self = shared_from_this()] { self->drop(); }); break;
    }
  }

  bool wants_metadata() const override { return wants_metadata_; }

 private:
  void on_accept(const beast::error_code& error) {
    if (error) return drop();
    const bool reconnect = !id_.empty();
    if (id_.empty()) id_ = jobs::make_hex_id();
    shared_.hub.add(id_, shared_from_this(), shared_.greeting(id_, reconnect));
    read();
  }

  void read() {
    socket_.async_read(buffer_, [self = shared_from_this()](const beast::error_code& error, size_t) {
      if (error) return self->drop();
      self->on_message();
      self->buffer_.consume(self->buffer_.size());
      self->read();
    });
  }

  // Only the first JSON object counts.
  void on_message() {
    if (seen_object_ || !socket_.got_text()) return;
    graph::Json json;
    try {
      json = graph::parse_json({static_cast<const char*>(buffer_.data().data()), buffer_.size()});
    } catch (const Error&) {
      return;
    }
    if (!json.is_object()) return;
    seen_object_ = true;
    const auto type = json.find("type");
    if (type == json.end() || *type != "feature_flags") return;
    const auto data = json.find("data");
    if (data != json.end() && data->is_object()) {
      const auto flag = data->find("supports_preview_metadata");
      wants_metadata_ = flag != data->end() && flag->is_boolean() && flag->get<bool>();
    }
    if (const std::optional<Outgoing> answer = shared_.features()) send(*answer);
  }

  void send_next() {
    std::optional<Outgoing> next = queue_.pop();
    watch_.cancel();
    if (!next || dropped_) return;
    sending_ = std::move(*next);
    socket_.text(sending_.is_text());
    watch_.expires_after(kSendLimit);
    watch_.async_wait([self = weak_from_this()](const beast::error_code& error) {
      const auto alive = self.lock();
      if (!error && alive) alive->drop();
    });
    socket_.async_write(asio::buffer(*sending_.data), [self = shared_from_this()](const beast::error_code& error, size_t) {
      if (error) return self->drop();
      self->send_next();
    });
  }

  void drop() {
    if (std::exchange(dropped_, true)) return;
    queue_.close();
    watch_.cancel();
    shared_.hub.remove(id_, this);
    stream_owner_->close();
  }

  std::unique_ptr<Stream> stream_owner_;
  websocket::stream<Stream&> socket_;
  asio::steady_timer watch_;
  SessionShared& shared_;
  SendQueue queue_;
  std::string id_;
  beast::http::request<beast::http::string_body> handshake_;
  beast::flat_buffer buffer_;
  Outgoing sending_;
  bool seen_object_ = false, dropped_ = false;
  std::atomic<bool> wants_metadata_ = false;
};

}  // namespace

void serve_web_socket(std::unique_ptr<Stream> stream, beast::http::request<beast::http::string_body> handshake, std::string id,
                      SessionShared& shared) {
  if (id.size() > kMaxIdBytes) id.clear();
  std::make_shared<WsSession>(std::move(stream), std::move(id), shared)->start(std::move(handshake));
}

}  // namespace veneer::server

// HTTP/1.1 on one connection. Everything here runs on the connection's strand; handlers run on their own threads.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/beast/http.hpp>
#include <cerrno>
#include <chrono>
#include <ctime>

#include "server/http/file_response.h"
#include "server/http/session.h"
#include "server/http/stream.h"
#include "server/http/url.h"
#include "server/ws/ws_session.h"

namespace veneer::server {
namespace {

namespace http = beast::http;
using std::chrono::seconds;

constexpr seconds kIdle(75), kHeaders(30), kBody(600), kSending(60);
constexpr uint32_t kMaxHeaderBytes = 32 << 10;
constexpr uint64_t kSmallBody = 1 << 20;
constexpr size_t kPiece = 256 << 10;
constexpr size_t kFirstRead = 4096;

class FileReader {
 public:
  explicit FileReader(const FileBody& body) : fd_(::open(body.path.c_str(), O_RDONLY | O_CLOEXEC)), at_(body.offset), left_(body.length) {}
  ~FileReader() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;
  bool open() const { return fd_ >= 0; }
  uint64_t left() const { return left_; }
  // The next piece; empty when the file is shorter than it was.
  const std::string& next() {
    piece_.resize(static_cast<size_t>(std::min<uint64_t>(left_, kPiece)));
    const ssize_t got = ::pread(fd_, piece_.data(), piece_.size(), static_cast<off_t>(at_));
    piece_.resize(got > 0 ? static_cast<size_t>(got) : 0);
    at_ += piece_.size();
    left_ -= piece_.size();
    return piece_;
  }

 private:
  int fd_;
  uint64_t at_, left_;
  std::string piece_;
};

class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(tcp::socket socket, SessionShared& shared)
      : stream_(std::make_unique<Stream>(std::move(socket), shared.tls)), shared_(shared), connection_(shared) {}

  void start() {
    timed().expires_after(kHeaders);
    stream_->handshake([self = shared_from_this()](const beast::error_code& error) {
      if (!error) self->read();
    });
  }

 private:
  // Counts bytes of bodies, and connections, for as long as they last.
  struct Reservation {
    explicit Reservation(SessionShared& shared) : shared_(shared) {}
    ~Reservation() { release(); }
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;
    bool take(uint64_t bytes) {
      release();
      if (shared_.body_bytes.fetch_add(bytes) + bytes > shared_.max_body_bytes_together) {
        shared_.body_bytes -= bytes;
        return false;
      }
      bytes_ = bytes;
      return true;
    }
    void release() {
      shared_.body_bytes -= bytes_;
      bytes_ = 0;
    }
    SessionShared& shared_;
    uint64_t bytes_ = 0;
  };
  struct Connection {
    explicit Connection(SessionShared& shared) : shared_(shared) { ++shared_.connections; }
    ~Connection() { --shared_.connections; }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    SessionShared& shared_;
  };

  beast::tcp_stream& timed() { return stream_->tcp_layer(); }

  void read() {
    parser_.emplace();
    parser_->header_limit(kMaxHeaderBytes);
    parser_->body_limit(shared_.max_body_bytes);
    request_ = {};
    head_ = false;
    keep_alive_ = false;
    if (buffer_.size() > 0) return read_header();
    timed().expires_after(kIdle);
    stream_->async_read_some(buffer_.prepare(kFirstRead), [self = shared_from_this()](const beast::error_code& error, size_t size) {
      if (error) return self->close();
      self->buffer_.commit(size);
      self->read_header();
    });
  }

  // From its first byte on the header has one time limit as a whole.
  void read_header() {
    timed().expires_after(kHeaders);
    http::async_read_header(*stream_, buffer_, *parser_,
                            [self = shared_from_this()](const beast::error_code& error, size_t) { self->on_header(error); });
  }

  void on_header(const beast::error_code& error) {
    if (error == http::error::header_limit) return refuse(error_response(431, "headers_too_large", "The request's headers are too large"));
    if (error == http::error::body_limit) return refuse_size();
    if (is_broken(error)) return refuse(error_response(400, "invalid_http", "The request is not HTTP", error.message()));
    if (error) return close();
    take_header();
    if (std::optional<Response> refusal = check_framing()) return refuse(std::move(*refusal));
    if (std::optional<Response> refusal = shared_.admit(request_)) return refuse(std::move(*refusal));
    if (beast::websocket::is_upgrade(parser_->get()) && request_.path == "/ws") return upgrade();
    read_body();
  }

  // What came breaks HTTP's rules; an end in the middle of it is the client's going away.
  static bool is_broken(const beast::error_code& error) {
    const bool of_http = error && error.category() == http::make_error_code(http::error::bad_method).category();
    return of_http && error != http::error::end_of_stream && error != http::error::partial_message;
  }

  void take_header() {
    const auto& message = parser_->get();
    keep_alive_ = message.keep_alive();
    version_ = message.version();
    request_.method = std::string(message.method_string());
    head_ = request_.method == "HEAD";
    if (head_) request_.method = "GET";
    const std::string target(message.target());
    const size_t question = target.find('?');
    request_.path = target.substr(0, question);
    if (question != std::string::npos) request_.query = parse_query(std::string_view(target).substr(question + 1, target.find('#') - question - 1));
    if (request_.path.starts_with("/api/") && !request_.path.starts_with("/api/internal/")) request_.path.erase(0, 4);
    for (const auto& field : message) request_.headers.emplace_back(lower_case(std::string(field.name_string())), std::string(field.value()));
  }

  // What could be understood in two ways is refused (RFC 9112, 3.2 and 6.1), and so is what would have to be unpacked.
  std::optional<Response> check_framing() const {
    const auto count = [this](std::string_view name) {
      return std::count_if(request_.headers.begin(), request_.headers.end(), [&](const auto& header) { return header.first == name; });
    };
    const auto hosts = count("host");
    if (hosts > 1 || (hosts == 0 && version_ >= 11)) return error_response(400, "invalid_host", "A request needs one Host header");
    // Whoever stands between client and server may have read another of them.
    for (const char* name : {"origin", "sec-fetch-site", "authorization", "x-api-key", "comfy-user", "content-type", "content-encoding",
                             "idempotency-key", "sec-websocket-key", "sec-websocket-version"}) {
      if (count(name) > 1) return error_response(400, "repeated_header", "A request may have this header once", name);
    }
    const auto encodings = count("transfer-encoding");
    if (encodings > 1 || (encodings == 1 && !equals_ignoring_case(trimmed(request_.header("transfer-encoding")), "chunked"))) {
      return error_response(501, "unsupported", "Transfer-Encoding must be chunked, or absent");
    }
    if (const std::string* coding = request_.find_header("content-encoding"); coding != nullptr && !equals_ignoring_case(*coding, "identity")) {
      return error_response(415, "unsupported", "Bodies must come without a Content-Encoding", *coding);
    }
    return std::nullopt;
  }

  void read_body() {
    const auto length = parser_->content_length();
    if (length && *length > shared_.max_body_bytes) return refuse_size();
    const uint64_t expected = length ? *length : parser_->chunked() ? shared_.max_body_bytes : 0;
    if (expected > kSmallBody && !reserved_.take(expected)) {
      return refuse(error_response(503, "busy", "The server takes no more large uploads at this moment"));
    }
    if (equals_ignoring_case(request_.header("expect"), "100-continue")) {
      static constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";
      return asio::async_write(*stream_, asio::buffer(kGoOn.data(), kGoOn.size()),
                               [self = shared_from_this()](const beast::error_code& error, size_t) {
                                 if (!error) self->read_rest();
                               });
    }
    read_rest();
  }

  void read_rest() {
    if (parser_->is_done()) return on_body({});
    timed().expires_after(kBody);
    http::async_read(*stream_, buffer_, *parser_, [self = shared_from_this()](const beast::error_code& error, size_t) { self->on_body(error); });
  }

  void on_body(const beast::error_code& error) {
    if (error == http::error::body_limit) return refuse_size();
    if (is_broken(error))
      return refuse(error_response(400, "invalid_http", "The request's body is not in the form that its header tells", error.message()));
    if (error) return close();
    request_.body = std::move(parser_->get().body());
    timed().expires_never();
    // Nobody else uses the socket while the handler runs.
    request_.gone = [fd = timed().socket().native_handle()] {
      char next = 0;
      const ssize_t got = ::recv(fd, &next, 1, MSG_PEEK | MSG_DONTWAIT);
      return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
    };
    asio::post(shared_.handlers, [self = shared_from_this()] {
      Response response = self->shared_.handle(self->request_);
      asio::post(self->stream_->get_executor(), [self, response = std::move(response)]() mutable { self->send(std::move(response)); });
    });
  }

  void refuse_size() { refuse(error_response(413, "too_large", "The body is larger than the server takes", std::to_string(shared_.max_body_bytes))); }

  // What follows on the connection is not read any more.
  void refuse(Response response) {
    response.close = true;
    send(std::move(response));
  }

  void send(Response response) {
    reserved_.release();
    shared_.finish(request_, response);
    keep_alive_ = keep_alive_ && !response.close;
    body_ = std::move(response.body);
    if (response.file) {
      file_ = std::make_unique<FileReader>(*response.file);
      if (!file_->open()) {
        file_.reset();
        response = error_response(404, "not_found", "There is no such file");
        body_ = std::move(response.body);
      }
    }
    head_text_ = head_of(response);
    if (head_ || response.status == 304 || response.status == 204) {
      body_.clear();
      file_.reset();
    }
    timed().expires_after(kSending);
    const std::array<asio::const_buffer, 2> parts = {asio::buffer(head_text_), asio::buffer(body_)};
    asio::async_write(*stream_, parts, [self = shared_from_this()](const beast::error_code& error, size_t) { self->on_sent(error); });
  }

  std::string head_of(const Response& response) const {
    std::string text = version_ == 10 ? "HTTP/1.0 " : "HTTP/1.1 ";
    text += std::to_string(response.status) + " ";
    text.append(reason_of(response.status)).append("\r\n");
    for (const auto& [name, value] : response.headers) text.append(name).append(": ").append(value).append("\r\n");
    if (response.status != 204 && response.status != 304) {
      text += "Content-Length: " + std::to_string(file_ ? file_->left() : body_.size()) + "\r\n";
    }
    text += "Date: " + http_date(std::time(nullptr)) + "\r\n";
    if (!keep_alive_) text += "Connection: close\r\n";
    if (keep_alive_ && version_ == 10) text += "Connection: keep-alive\r\n";
    return text + "\r\n";
  }

  void on_sent(const beast::error_code& error) {
    if (error) return close();
    if (file_ && file_->left() > 0) {
      const std::string& piece = file_->next();
      if (piece.empty()) return close();
      timed().expires_after(kSending);
      asio::async_write(*stream_, asio::buffer(piece),
                        [self = shared_from_this()](const beast::error_code& failed, size_t) { self->on_sent(failed); });
      return;
    }
    file_.reset();
    body_ = {};
    if (!keep_alive_) return linger();
    read();
  }

  // Lets a client that is still sending read the answer before the connection is reset.
  void linger() {
    beast::error_code ignored;
    timed().socket().shutdown(tcp::socket::shutdown_send, ignored);
    timed().expires_after(seconds(2));
    drain();
  }

  void drain() {
    body_.resize(kPiece);
    timed().async_read_some(asio::buffer(body_), [self = shared_from_this()](const beast::error_code& error, size_t) {
      if (!error) self->drain();
    });
  }

  void close() { stream_->close(); }

  void upgrade() {
    constexpr size_t kKeyLength = 24;  // 16 bytes in base64
    const std::string_view key = request_.header("sec-websocket-key");
    if (request_.header("sec-websocket-version") != "13") {
      Response response = error_response(426, "websocket", "The web socket's version must be 13");
      response.set("Sec-WebSocket-Version", "13");
      return refuse(std::move(response));
    }
    if (key.size() != kKeyLength || !key.ends_with("=="))
      return refuse(error_response(400, "websocket", "The web socket's key must be 16 bytes in base64"));
    const std::string* id = request_.find_query("clientId");
    timed().expires_never();
    stream_->give_back(std::move(buffer_));
    serve_web_socket(std::move(stream_), parser_->release(), id == nullptr ? std::string() : *id, shared_);
  }

  std::unique_ptr<Stream> stream_;
  SessionShared& shared_;
  Connection connection_;
  Reservation reserved_{shared_};
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  Request request_;
  bool head_ = false, keep_alive_ = false;
  unsigned version_ = 11;
  std::string head_text_, body_;
  std::unique_ptr<FileReader> file_;
};

}  // namespace

void serve_connection(tcp::socket socket, SessionShared& shared) {
  beast::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  std::make_shared<HttpSession>(std::move(socket), shared)->start();
}

}  // namespace veneer::server

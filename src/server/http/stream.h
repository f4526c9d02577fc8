// Stream: a TCP connection, with TLS or without, as one type: sessions and web sockets are compiled once.
#pragma once

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <memory>
#include <utility>

namespace veneer::server {

namespace asio = boost::asio;
namespace beast = boost::beast;
using tcp = asio::ip::tcp;

// One strand.
class Stream {
 public:
  using executor_type = beast::tcp_stream::executor_type;

  // With a context the connection speaks TLS, after `handshake`. The context has to outlive the stream.
  Stream(tcp::socket socket, asio::ssl::context* context) : tcp_(std::move(socket)) {
    if (context != nullptr) tls_ = std::make_unique<asio::ssl::stream<beast::tcp_stream&>>(tcp_, *context);
  }
  Stream(Stream&&) = delete;

  executor_type get_executor() { return tcp_.get_executor(); }
  beast::tcp_stream& tcp_layer() { return tcp_; }

  template <typename Handler>
  void handshake(Handler&& handler) {
    if (tls_) {
      tls_->async_handshake(asio::ssl::stream_base::server, std::forward<Handler>(handler));
    } else {
      asio::dispatch(get_executor(), [h = std::forward<Handler>(handler)]() mutable { h(beast::error_code()); });
    }
  }

  // What was read beyond what the reader wanted: the next reads begin with it.
  void give_back(beast::flat_buffer rest) { rest_ = std::move(rest); }

  template <typename Buffers, typename Handler>
  auto async_read_some(const Buffers& buffers, Handler&& handler) {
    if (rest_.size() > 0) {
      const size_t size = asio::buffer_copy(buffers, rest_.data());
      rest_.consume(size);
      return asio::post(get_executor(), beast::bind_front_handler(std::forward<Handler>(handler), beast::error_code(), size));
    }
    if (tls_) return tls_->async_read_some(buffers, std::forward<Handler>(handler));
    return tcp_.async_read_some(buffers, std::forward<Handler>(handler));
  }
  template <typename Buffers, typename Handler>
  auto async_write_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) return tls_->async_write_some(buffers, std::forward<Handler>(handler));
    return tcp_.async_write_some(buffers, std::forward<Handler>(handler));
  }
  // Beast asks for these, and the sessions here do not use them.
  template <typename Buffers>
  size_t read_some(const Buffers& buffers, beast::error_code& error) {
    return tls_ ? tls_->read_some(buffers, error) : tcp_.read_some(buffers, error);
  }
  template <typename Buffers>
  size_t write_some(const Buffers& buffers, beast::error_code& error) {
    return tls_ ? tls_->write_some(buffers, error) : tcp_.write_some(buffers, error);
  }
  template <typename Buffers>
  size_t read_some(const Buffers& buffers) {
    return tcp_.read_some(buffers);
  }
  template <typename Buffers>
  size_t write_some(const Buffers& buffers) {
    return tcp_.write_some(buffers);
  }

  void close() {
    beast::error_code ignored;
    tcp_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    tcp_.close();
  }

 private:
  beast::tcp_stream tcp_;
  beast::flat_buffer rest_;
  std::unique_ptr<asio::ssl::stream<beast::tcp_stream&>> tls_;
};

// How Beast ends a web socket's connection.
inline void beast_close_socket(Stream& stream) { stream.close(); }
inline void teardown(beast::role_type /*role*/, Stream& stream, beast::error_code& error) {
  error = {};
  stream.close();
}
template <typename Handler>
void async_teardown(beast::role_type /*role*/, Stream& stream, Handler&& handler) {
  stream.close();
  asio::post(stream.get_executor(), [h = std::forward<Handler>(handler)]() mutable { h(beast::error_code()); });
}

}  // namespace veneer::server

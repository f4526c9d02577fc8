#include "server/http/listener.h"

#include <boost/asio/strand.hpp>
#include <chrono>

#include "veneer/error.h"

namespace veneer::server {

namespace asio = boost::asio;
using asio::ip::tcp;

Listener::Listener(asio::io_context& context, const std::string& address, uint16_t port, uint64_t max_connections, SessionShared& shared)
    : context_(context), acceptor_(context), pause_(context), max_connections_(max_connections), shared_(shared) {
  boost::system::error_code error;
  const auto refuse = [&] {
    throw Error(ErrorCode::invalid, "the server cannot listen", {{"address", address}, {"port", std::to_string(port)}, {"reason", error.message()}});
  };
  const asio::ip::address where = asio::ip::make_address(address == "localhost" ? "127.0.0.1" : address, error);
  if (error) refuse();
  const tcp::endpoint endpoint(where, port);
  acceptor_.open(endpoint.protocol(), error);
  if (error) refuse();
  acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  acceptor_.bind(endpoint, error);
  if (error) refuse();
  acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) refuse();
  port_ = acceptor_.local_endpoint().port();
}

void Listener::accept() {
  acceptor_.async_accept(asio::make_strand(context_), [self = shared_from_this()](const boost::system::error_code& error, tcp::socket socket) {
    if (!self->acceptor_.is_open()) return;
    if (!error && self->shared_.connections < self->max_connections_) serve_connection(std::move(socket), self->shared_);
    if (!error) return self->accept();
    // Out of file descriptors, for one: connections that end make room.
    self->pause_.expires_after(std::chrono::milliseconds(100));
    self->pause_.async_wait([self](const boost::system::error_code&) { self->accept(); });
  });
}

void Listener::stop() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
}

}  // namespace veneer::server

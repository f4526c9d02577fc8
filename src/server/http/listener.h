// Listener: accepts connections on one address.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>

#include "server/http/session.h"

namespace veneer::server {

class Listener : public std::enable_shared_from_this<Listener> {
 public:
  // Opens the port. Throws Error(invalid) naming address and reason.
  Listener(boost::asio::io_context& context, const std::string& address, uint16_t port, uint64_t max_connections, SessionShared& shared);
  void start() { accept(); }
  // The port that was asked for, or the one that the system chose for 0.
  uint16_t port() const { return port_; }
  // No new connections. From the context's thread.
  void stop();

 private:
  void accept();
  boost::asio::io_context& context_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer pause_;
  uint64_t max_connections_;
  SessionShared& shared_;
  uint16_t port_ = 0;
};

}  // namespace veneer::server

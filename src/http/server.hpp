// server: an HTTP/1.1 server on the program's own reactor. It handles GET and HEAD, and POST if the limits
// allow a body; all client input is limited.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "http/address.hpp"
#include "http/allowed_hosts.hpp"
#include "http/connection.hpp"
#include "http/message.hpp"

namespace outboxd::http {

// Not thread-safe. The reactor has work until stop().
class server {
 public:
  server(boost::asio::any_io_executor executor, later_handler answer, allowed_hosts hosts = {},
         limits within = {});
  server(boost::asio::any_io_executor executor, handler answer, allowed_hosts hosts = {}, limits within = {});
  ~server();
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  // May be called for several addresses. Returns the address, with the port that was chosen for port 0.
  result<address> listen(const address& where);

  // Closes everything, and removes the files of Unix-domain sockets.
  void stop();

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace outboxd::http

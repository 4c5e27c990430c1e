// listener: a socket that listens on one address, and the file of a Unix-domain socket.
#pragma once

#include <sys/stat.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

#include "core/error.hpp"
#include "http/address.hpp"

namespace outboxd::http {

class listener {
 public:
  using protocol = boost::asio::generic::stream_protocol;
  using acceptor_type = boost::asio::basic_socket_acceptor<protocol>;

  explicit listener(boost::asio::any_io_executor executor) : acceptor_(std::move(executor)) {}
  ~listener() { close(); }
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;

  // To be called once. Returns the address, with the port that was chosen for port 0. The file of a
  // Unix-domain socket has mode 0660; a stale socket file is replaced.
  result<address> open(const address& where);

  // Removes the file if it still belongs to this socket.
  void close();

  acceptor_type& acceptor() { return acceptor_; }
  bool is_local() const { return !path_.empty(); }

 private:
  result<address> open_tcp(const tcp_address& where);
  result<address> open_unix(const unix_address& where);

  acceptor_type acceptor_;
  std::string path_;     // empty: not a Unix-domain socket
  struct stat file_ {};  // identity of the created file
};

}  // namespace outboxd::http

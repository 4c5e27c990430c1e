// listener: a socket that listens on one address, and the file that a Unix socket leaves.
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

  // Once. Answers with the address, with the port that was found for port 0. The file of a Unix socket has
  // mode 0660; a socket without a listener is replaced.
  result<address> open(const address& where);

  // Removes the file, if it is still this socket's.
  void close();

  acceptor_type& acceptor() { return acceptor_; }
  bool is_local() const { return !path_.empty(); }

 private:
  result<address> open_tcp(const tcp_address& where);
  result<address> open_unix(const unix_address& where);

  acceptor_type acceptor_;
  std::string path_;     // empty: no Unix socket
  struct stat file_ {};  // what was made there
};

}  // namespace outboxd::http

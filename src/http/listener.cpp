#include "http/listener.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <utility>

namespace outboxd::http {
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

// Creates the socket's file with mode 0660. Only for startup, while there is one thread, because umask
// applies to the process.
class group_only {
 public:
  group_only() : before_(::umask(0117)) {}
  ~group_only() { ::umask(before_); }
  group_only(const group_only&) = delete;
  group_only& operator=(const group_only&) = delete;

 private:
  mode_t before_;
};

enum class at_path { nothing, a_dead_socket, a_live_socket, something_else };

at_path look_at(const std::string& path) {
  struct stat file {};
  if (::lstat(path.c_str(), &file) != 0) return at_path::nothing;
  if (!S_ISSOCK(file.st_mode)) return at_path::something_else;
  asio::io_context unused;
  asio::local::stream_protocol::socket asking(unused);
  error_code failed;
  asking.open(asio::local::stream_protocol(), failed);
  asking.native_non_blocking(true, failed);
  const asio::local::stream_protocol::endpoint there(path);
  // Asio's connect would wait if the backlog is full.
  const int refused = ::connect(asking.native_handle(), there.data(), static_cast<socklen_t>(there.size()));
  return refused != 0 && errno == ECONNREFUSED ? at_path::a_dead_socket : at_path::a_live_socket;
}

tl::unexpected<error> cannot(const address& where, std::string_view why) {
  return permanent(fmt::format("cannot listen on {} (http.listen): {}", url_of(where), why));
}

std::string words_for(const error_code& failed) {
  if (failed == asio::error::address_in_use)
    return "something listens there already, perhaps another relay; give another port, port 0 or off";
  return failed.message();
}

// An IPv6 socket for all addresses also accepts IPv4. If the kernel has no IPv6, uses IPv4 alone.
tcp::endpoint endpoint_of(const tcp_address& where, bool has_ipv6) {
  if (!where.host.empty()) return {asio::ip::make_address(where.host), where.port};
  return {has_ipv6 ? tcp::v6() : tcp::v4(), where.port};
}

}  // namespace

result<address> listener::open_tcp(const tcp_address& where) {
  error_code failed;
  auto to = endpoint_of(where, true);
  acceptor_.open(to.protocol(), failed);
  if (failed && where.host.empty()) {
    to = endpoint_of(where, false);
    acceptor_.open(to.protocol(), failed);
  }
  if (!failed) acceptor_.set_option(tcp::acceptor::reuse_address(true), failed);
  if (!failed && to.protocol() == tcp::v6())
    acceptor_.set_option(asio::ip::v6_only(!where.host.empty()), failed);
  if (!failed) acceptor_.bind(to, failed);
  if (!failed) acceptor_.listen(asio::socket_base::max_listen_connections, failed);
  if (failed) return cannot(where, words_for(failed));
  const auto bound = acceptor_.local_endpoint(failed);
  tcp::endpoint found;
  if (failed || bound.size() > found.capacity()) return cannot(where, "its port cannot be read");
  std::copy_n(reinterpret_cast<const char*>(bound.data()), bound.size(),
              reinterpret_cast<char*>(found.data()));
  return tcp_address{where.host, found.port()};
}

result<address> listener::open_unix(const unix_address& where) {
  switch (look_at(where.path)) {
    case at_path::nothing:
      break;
    case at_path::a_dead_socket:
      ::unlink(where.path.c_str());
      break;
    case at_path::a_live_socket:
      return cannot(where, "something listens there already, perhaps another relay");
    case at_path::something_else:
      return cannot(where, "the file exists and is no socket");
  }
  error_code failed;
  const asio::local::stream_protocol::endpoint to(where.path);
  acceptor_.open(to.protocol(), failed);
  {
    const group_only mode;
    if (!failed) acceptor_.bind(to, failed);
  }
  if (!failed) {
    path_ = where.path;
    ::lstat(path_.c_str(), &file_);
    acceptor_.listen(asio::socket_base::max_listen_connections, failed);
  }
  if (failed) return cannot(where, words_for(failed));
  return where;
}

result<address> listener::open(const address& where) {
  if (const auto* path = std::get_if<unix_address>(&where)) return open_unix(*path);
  return open_tcp(std::get<tcp_address>(where));
}

void listener::close() {
  error_code ignored;
  acceptor_.close(ignored);
  const auto path = std::exchange(path_, {});
  struct stat now {};
  if (path.empty() || ::lstat(path.c_str(), &now) != 0) return;
  if (now.st_dev == file_.st_dev && now.st_ino == file_.st_ino) ::unlink(path.c_str());
}

}  // namespace outboxd::http

// tls_listener: a port of the tests' broker that speaks TLS, with options of its own.
#pragma once

#include <fmt/format.h>

#include <string>

#include "support/broker_admin.hpp"
#include "support/broker_url.hpp"
#include "support/certificates.hpp"
#include "support/free_port.hpp"

namespace outboxd::test {

class tls_listener {
 public:
  /// `more`: options of Erlang's ssl:listen, each behind a comma.
  tls_listener(const certificate_authority& clients, const certificate_files& shows,
               const std::string& more = "")
      : port_(free_port()) {
    broker_eval(
        fmt::format("{{ok, _}} = application:ensure_all_started(ssl), "
                    "rabbit_networking:start_ssl_listener({{\"127.0.0.1\", {}}}, [{{cacertfile, \"{}\"}}, "
                    "{{certfile, \"{}\"}}, {{keyfile, \"{}\"}}{}], 1).",
                    port_, clients.file(), shows.certificate, shows.key, more));
  }
  ~tls_listener() {
    try {
      broker_eval(fmt::format("rabbit_networking:stop_tcp_listener({{\"127.0.0.1\", {}}}).", port_));
    } catch (const std::exception&) {
    }
  }
  tls_listener(const tls_listener&) = delete;
  tls_listener& operator=(const tls_listener&) = delete;

  int port() const { return port_; }
  std::string url(const std::string& scheme = "amqps", const std::string& host = "localhost",
                  const std::string& user = "outboxd", const std::string& password = admin_password()) const {
    return fmt::format("{}://{}:{}@{}:{}", scheme, user, password, host, port_);
  }

  /// Those that came in here: other tests have theirs to the same broker.
  void close_connections(const std::string& why) const {
    broker_eval(
        fmt::format("[rabbit_networking:close_connection(P, \"{}\") || P <- rabbit_networking:connections(), "
                    "[{{port, {}}}] == rabbit_networking:connection_info(P, [port])].",
                    why, port_));
  }

 private:
  int port_;
};

inline constexpr auto wants_certificate = ", {verify, verify_peer}, {fail_if_no_peer_cert, true}";

}  // namespace outboxd::test

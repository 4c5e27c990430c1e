// management_plugin: RabbitMQ's management API beside the tests' broker, plain or with TLS, for the length of
// a test of the suite "alone": it costs the broker a sampling of everything that it has.
#pragma once

#include <fmt/format.h>

#include <string>

#include "enabled_plugin.hpp"
#include "support/broker_admin.hpp"
#include "support/certificates.hpp"
#include "support/free_port.hpp"

namespace outboxd::test {

class management_plugin {
 public:
  management_plugin()
      : port_(free_port()),
        plugin_("rabbitmq_management",
                fmt::format("ok = application:set_env(rabbitmq_management, tcp_config, [{{port, {}}}, {{ip, "
                            "\"127.0.0.1\"}}]), ",
                            port_)) {}

  // RabbitMQ takes what is said of TLS from the same list.
  explicit management_plugin(const certificate_files& shows)
      : port_(free_port()),
        plugin_("rabbitmq_management",
                fmt::format("ok = application:unset_env(rabbitmq_management, tcp_config), ok = "
                            "application:set_env(rabbitmq_management, ssl_config, [{{port, {}}}, "
                            "{{certfile, \"{}\"}}, {{keyfile, \"{}\"}}]), ",
                            port_, shows.certificate, shows.key)) {}
  ~management_plugin() {
    try {
      broker_eval("application:unset_env(rabbitmq_management, ssl_config).");
    } catch (const std::exception&) {
    }
  }
  management_plugin(const management_plugin&) = delete;
  management_plugin& operator=(const management_plugin&) = delete;

  int port() const { return port_; }
  std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }
  std::string url(const std::string& user, const std::string& password) const {
    return fmt::format("http://{}:{}@127.0.0.1:{}", user, password, port_);
  }

 private:
  int port_;
  enabled_plugin plugin_;
};

}  // namespace outboxd::test

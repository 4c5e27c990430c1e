// management_plugin: RabbitMQ's management API beside the tests' broker, for the length of a test of the suite
// "alone": it costs the broker a sampling of everything that it has.
#pragma once

#include <fmt/format.h>

#include <string>

#include "enabled_plugin.hpp"
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

  std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }
  std::string url(const std::string& user, const std::string& password) const {
    return fmt::format("http://{}:{}@127.0.0.1:{}", user, password, port_);
  }

 private:
  int port_;
  enabled_plugin plugin_;
};

}  // namespace outboxd::test

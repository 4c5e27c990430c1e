// enabled_plugin: a plugin of the tests' broker, for the length of a test of the suite "alone".
#pragma once

#include <fmt/format.h>

#include <string>

#include "support/broker_admin.hpp"

namespace outboxd::test {

class enabled_plugin {
 public:
  /// `first`: Erlang's expressions that set it up, each with a comma behind it.
  enabled_plugin(const std::string& name, const std::string& first) {
    ensure(fmt::format("application:load({}), {}", name, first), fmt::format("[{}].", name));
  }
  ~enabled_plugin() {
    try {
      ensure("", "[].");
    } catch (const std::exception&) {
    }
  }
  enabled_plugin(const enabled_plugin&) = delete;
  enabled_plugin& operator=(const enabled_plugin&) = delete;

 private:
  // As rabbitmq-plugins does it, which would need a broker's own environment. tools/services writes the file
  // anew at each start of the broker.
  static void ensure(const std::string& first, const std::string& plugins) {
    broker_eval(
        fmt::format("{}{{ok, File}} = application:get_env(rabbit, enabled_plugins_file), "
                    "ok = file:write_file(File, \"{}\\n\"), {{ok, _, _}} = rabbit_plugins:ensure(File).",
                    first, plugins));
  }
};

}  // namespace outboxd::test

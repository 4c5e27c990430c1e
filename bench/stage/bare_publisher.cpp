#include "stage/bare_publisher.hpp"

#include <stdexcept>

#include "support/process.hpp"

namespace outboxd::bench {

double bare_publisher(const setup& on, const std::string& queue_type, std::int64_t messages,
                      std::int64_t size, int connections, int window) {
  using namespace std::chrono_literals;
  test::process publisher({.program = on.program("publisher"),
                           .arguments = {"--count", std::to_string(messages), "--size", std::to_string(size),
                                         "--queue-type", queue_type, "--connections",
                                         std::to_string(connections), "--window", std::to_string(window)},
                           .environment = {{"OUTBOXD_AMQP_URL", on.amqp_url}},
                           .log_file = {}});
  if (publisher.wait(20min) != test::exit_status{.code = 0, .signal = {}})
    throw std::runtime_error("the bare publisher failed: " + publisher.tail());
  const std::string name = "confirms_per_second=";
  const auto line = publisher.wait_line(name);
  return std::stod(line.substr(line.find(name) + name.size()));
}

paced_publisher::paced_publisher(const setup& on, double messages_per_second,
                                 std::chrono::milliseconds duration, std::int64_t size, int connections)
    : process_({.program = on.program("publisher"),
                .arguments = {"--rate", std::to_string(messages_per_second), "--count",
                              std::to_string(static_cast<std::int64_t>(
                                  messages_per_second * std::chrono::duration<double>(duration).count())),
                              "--size", std::to_string(size), "--connections", std::to_string(connections)},
                .environment = {{"OUTBOXD_AMQP_URL", on.amqp_url}},
                .log_file = {}}) {}

void paced_publisher::finish() {
  using namespace std::chrono_literals;
  if (process_.wait(5min) != test::exit_status{.code = 0, .signal = {}})
    throw std::runtime_error("the bare publisher failed: " + process_.tail());
}

}  // namespace outboxd::bench

#include "stage/bare_publisher.hpp"

#include <stdexcept>

#include "support/process.hpp"

namespace outboxd::bench {

double bare_publisher(const setup& on, const std::string& queue_type, std::int64_t messages,
                      std::int64_t size, int connections) {
  using namespace std::chrono_literals;
  test::process publisher(
      {.program = on.program("publisher"),
       .arguments = {"--count", std::to_string(messages), "--size", std::to_string(size), "--queue-type",
                     queue_type, "--connections", std::to_string(connections)},
       .environment = {{"OUTBOXD_AMQP_URL", on.amqp_url}},
       .log_file = {}});
  if (publisher.wait(20min) != test::exit_status{.code = 0, .signal = {}})
    throw std::runtime_error("the bare publisher failed: " + publisher.tail());
  const std::string name = "confirms_per_second=";
  const auto line = publisher.wait_line(name);
  return std::stod(line.substr(line.find(name) + name.size()));
}

}  // namespace outboxd::bench

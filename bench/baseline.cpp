#include "baseline.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "support/database.hpp"
#include "support/process.hpp"

namespace outboxd::bench {

double bare_publisher(const std::string& binary, const std::string& queue_type, std::int64_t messages,
                      std::int64_t size, int connections) {
  using namespace std::chrono_literals;
  test::process publisher(
      {.program = binary,
       .arguments = {"--url", test::required_environment("OUTBOXD_AMQP_URL"), "--count",
                     std::to_string(messages), "--size", std::to_string(size), "--queue-type", queue_type,
                     "--connections", std::to_string(connections)},
       .environment = {},
       .log_file = {}});
  if (publisher.wait(20min) != test::exit_status{.code = 0, .signal = {}})
    throw std::runtime_error(publisher.tail());
  const std::string name = "confirms_per_second=";
  const auto line = publisher.wait_line(name);
  return std::stod(line.substr(line.find(name) + name.size()));
}

}  // namespace outboxd::bench

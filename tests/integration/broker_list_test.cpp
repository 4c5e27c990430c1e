// A list of brokers: the relay goes on to the next one when the one at hand cannot be reached.
#include <doctest/doctest.h>

#include "stage.hpp"
#include "support/free_port.hpp"

namespace outboxd::test::broker_list_test {

TEST_CASE("with a list of brokers one that nobody listens at is passed over") {
  const stage on;
  on.add_events(3, 10);
  const auto nobody = fmt::format("amqp://outboxd:x@127.0.0.1:{}", free_port());
  relay running{on, {}, {{"OUTBOXD_AMQP_URL", nobody + "," + required_environment("OUTBOXD_AMQP_URL")}}};
  running.wait_line("refused", time_limit);
  running.await_connected();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

}  // namespace outboxd::test::broker_list_test

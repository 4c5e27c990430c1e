// Either server goes and comes back under load: the relay comes back by itself and loses nothing.
#include <doctest/doctest.h>

#include "load.hpp"
#include "stage.hpp"
#include "support/servers.hpp"

namespace outboxd::test::server_restart_test {
namespace {

// Restarts a server in the middle of a load; the relay has to notice, to come back, and to lose nothing.
void restart_under_load(const std::vector<std::string>& restart, const std::string& noticed,
                        const std::string& back) {
  const stage on;
  relay running{on, {"--relay-batch", "100"}};
  running.await_connected();
  INFO(running.tail(30));
  load writers{on};
  on.await_published(500);
  const auto from = running.lines().size();
  restart_server(restart);
  running.wait_line(noticed, time_limit, from);
  running.wait_line(back, time_limit, from);
  on.await_published(on.count("published") + 200);
  writers.stop();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK(report.dead == 0);
  auto session = on.connect();
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE attempts > 0") == 0);  // guarantee 8
  CHECK(running.running());
  running.stop();
}

}  // namespace

TEST_SUITE_BEGIN("alone");

TEST_CASE("PostgreSQL restarted under load: the relay comes back and loses nothing") {
  restart_under_load({"postgres"}, "PostgreSQL: ", "connected to PostgreSQL");
}

TEST_CASE("PostgreSQL crashed under load: the relay comes back and loses nothing") {
  restart_under_load({"postgres", "--immediate"}, "PostgreSQL: ", "connected to PostgreSQL");
}

TEST_CASE("RabbitMQ restarted under load: the relay comes back and loses nothing") {
  restart_under_load({"rabbitmq"}, "RabbitMQ: ", "connected to RabbitMQ");
}

TEST_CASE("RabbitMQ killed under load: the relay comes back and loses nothing") {
  restart_under_load({"rabbitmq", "--kill"}, "RabbitMQ: ", "connected to RabbitMQ");
}

TEST_SUITE_END();

}  // namespace outboxd::test::server_restart_test

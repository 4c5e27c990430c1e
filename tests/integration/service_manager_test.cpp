// systemd's manners: what a relay tells its service manager, and that a bad socket does not matter to it.
#include <doctest/doctest.h>

#include "settings_file.hpp"
#include "support/notify_socket.hpp"
#include "support/servers.hpp"

namespace outboxd::test::service_manager_test {
namespace {

environment told(const notify_socket& manager, environment more = {}) {
  more["NOTIFY_SOCKET"] = manager.address();
  return more;
}

constexpr auto leads = "STATUS=leads 1 of 1 shards";

}  // namespace

TEST_CASE("the service manager hears READY, who leads, and STOPPING") {
  const stage on;
  notify_socket first_manager;
  relay first{on, {}, told(first_manager)};
  first_manager.wait_line("READY=1");
  first_manager.wait_line(leads);
  notify_socket second_manager{notify_socket::kind::abstract};
  relay second{on, {}, told(second_manager)};
  second_manager.wait_line("READY=1");
  second_manager.wait_line("STATUS=standby: another relay leads");
  first.stop();
  CHECK(first_manager.has("STOPPING=1"));
  second_manager.wait_line(leads);
  second.stop();
  CHECK_FALSE(first_manager.has("WATCHDOG=1"));  // nobody has asked for it
}

TEST_CASE("a relay whose servers are away is ready, and its status says what is wrong") {
  const stage on;
  notify_socket manager;
  relay running{on,
                {},
                told(manager, {{"OUTBOXD_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none"},
                               {"OUTBOXD_AMQP_URL", "amqp://127.0.0.1:1"}})};
  manager.wait_line("READY=1");
  manager.wait_line("STATUS=not publishing (database_down): ");
  running.stop();
}

TEST_CASE("a relay that is refused for good is never ready, so that its start fails") {
  const stage on;
  notify_socket manager;
  relay refused{on, {"--schema", "nowhere"}, told(manager)};
  CHECK(refused.wait(time_limit).code == 1);
  CHECK_FALSE(manager.has("READY=1"));
  CHECK(manager.has("STOPPING=1"));
}

TEST_CASE("the watchdog is fed while the relay moves") {
  const stage on;
  notify_socket manager;
  relay running{on, {}, told(manager, {{"WATCHDOG_USEC", "200000"}})};
  manager.wait_line("READY=1");
  std::size_t from = 0;
  for (int i = 0; i < 3; ++i) from = manager.wait_line("WATCHDOG=1", from) + 1;
  running.send(SIGSTOP);
  const auto hung = manager.lines().size();
  CHECK_THROWS_AS(manager.wait_line("WATCHDOG=1", hung + 2, 1s),
                  deadline_passed);  // two were under way at most
  running.send(SIGCONT);
  manager.wait_line("WATCHDOG=1", manager.lines().size());
  running.stop();
}

TEST_CASE("a reload begins with RELOADING and ends with READY, also when the settings are refused") {
  const stage on;
  notify_socket manager;
  const settings_file file{""};
  relay running{on, file.flags(), told(manager)};
  manager.wait_line(leads);
  for (const auto& [text, status] :
       {std::pair{"[log]\nlevel = 'loud'\n", "STATUS=leads 1 of 1 shards; changed "},
        std::pair{"[log]\nlevel = 'debug'\n", leads}}) {
    const auto from = manager.lines().size();
    file.write(text);
    running.send(SIGHUP);
    const auto begun = manager.wait_line("RELOADING=1", from);
    CHECK(manager.wait_line("MONOTONIC_USEC=", begun) == begun + 1);
    CHECK(manager.wait_line("READY=1", begun) == begun + 2);
    manager.wait_line(status, begun);
  }
  running.stop();
}

TEST_CASE("a bad NOTIFY_SOCKET is a warning, and the relay goes on") {
  for (const std::string address : {"nonsense", "/nonexistent/notify", "@nobody-listens", "vsock:2:1"}) {
    const stage on;
    relay running{on, {}, {{"NOTIFY_SOCKET", address}, {"WATCHDOG_USEC", "1000"}}};
    running.await_connected();
    running.wait_line("cannot notify systemd: NOTIFY_SOCKET = '" + address + "'", time_limit);
    on.add_events(10, 10);
    const auto report = on.check_all();
    CHECK_MESSAGE(report.exact(), report.words());
    running.stop();
  }
}

TEST_SUITE_BEGIN("alone");

TEST_CASE("a stop that waits for confirms says again and again that it needs more time") {
  const stage on;
  notify_socket manager;
  relay stopped{on,
                {"--relay-shutdown-grace", "10s", "--amqp-confirm-timeout", "1h", "--amqp-heartbeat", "1h"},
                told(manager)};
  stopped.await_connected();
  const frozen_broker frozen;
  on.add_events(10, 100);
  eventually(
      "events are on their way", [&] { return on.rows_read() >= 1000; }, time_limit);
  stopped.send(SIGTERM);
  const auto stopping = manager.wait_line("STOPPING=1");
  const auto first = manager.wait_line("EXTEND_TIMEOUT_USEC=", stopping);
  manager.wait_line("STATUS=stopping: waiting for outstanding confirms", stopping);
  manager.wait_line("EXTEND_TIMEOUT_USEC=", first + 1);
  CHECK(stopped.wait(time_limit).code == 0);
}

TEST_SUITE_END();

}  // namespace outboxd::test::service_manager_test

// A secret from a file is read again at each reconnect: a changed password needs no restart.
#include <doctest/doctest.h>

#include "login.hpp"
#include "rotation.hpp"
#include "stage.hpp"

namespace outboxd::test::password_change_test {
namespace {

void deliver_ten(const stage& on, std::int64_t so_far) {
  on.add_events(1, 10);
  on.await_published(so_far + 10);
}

}  // namespace

TEST_CASE("after a change of PostgreSQL's password the relay reconnects with the new one") {
  const stage on;
  const login user{"outbox_relay", "old"};
  const secret_file file{on.queue() + ".database"};
  file.write(user.url(on, "old"));
  relay running{on, {"--database-url-file", file.path()}};
  running.await_connected();
  deliver_ten(on, 0);

  user.change_password("new");
  const auto from = running.lines().size();
  on.connect().exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1",
                    {user.name()});
  running.wait_line("password authentication failed", time_limit, from);
  CHECK(running.running());  // it was connected before: it waits for the new password
  file.write(user.url(on, "new"));
  running.wait_line("connected to PostgreSQL", time_limit, from);
  deliver_ten(on, 10);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  running.stop();
}

TEST_CASE("after a change of RabbitMQ's password the relay reconnects with the new one") {
  const stage on;
  const broker_user user{on.queue(), "old"};
  const secret_file file{on.queue() + ".amqp"};
  file.write(user.url("old"));
  relay running{on, {"--amqp-url-file", file.path()}};
  running.await_connected();
  deliver_ten(on, 0);

  user.change_password("new");
  const auto from = running.lines().size();
  user.close_connections();
  running.wait_line("check the user, its password", time_limit, from);
  CHECK(running.running());
  file.write(user.url("new"));
  running.wait_line("connected to RabbitMQ", time_limit, from);
  deliver_ten(on, 10);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  running.stop();
}

}  // namespace outboxd::test::password_change_test

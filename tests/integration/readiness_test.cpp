// The reasons of /readyz that a server has of its own, on a relay that was well: each appears, and goes when
// it is mended. monitoring_test has those of servers that are away.
#include <doctest/doctest.h>

#include "asked_relay.hpp"
#include "login.hpp"
#include "rotation.hpp"
#include "stage.hpp"
#include "store/relay_statements.hpp"
#include "support/suspended_queue.hpp"

namespace outboxd::test::readiness_test {
namespace {

void end_relays(const stage& on) {
  on.connect().exec(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
      " AND application_name LIKE 'outboxd % on %'");
}

}  // namespace

TEST_CASE("a login that PostgreSQL refuses, and takes again") {
  const stage on;
  const login user{"outbox_relay", "old"};
  const secret_file file{on.queue() + ".database"};
  file.write(user.url(on, "old"));
  asked_relay running{on, {"--database-url-file", file.path()}};
  await_ready(running);
  user.change_password("new");
  end_relays(on);
  await_reason(running, "login_refused");
  file.write(user.url(on, "new"));
  await_ready(running);
  running.stop();
}

TEST_CASE("a login that RabbitMQ refuses, and takes again") {
  const stage on;
  const broker_user user{on.queue(), "old"};
  const secret_file file{on.queue() + ".amqp"};
  file.write(user.url("old"));
  asked_relay running{on, {"--amqp-url-file", file.path()}};
  await_ready(running);
  user.change_password("new");
  user.close_connections();
  await_reason(running, "login_refused");
  file.write(user.url("new"));
  await_ready(running);
  running.stop();
}

TEST_CASE("a schema that is gone, and back, then one that is too new") {
  const stage on;
  auto session = on.connect();
  asked_relay running{on};
  await_ready(running);
  session.exec("ALTER SCHEMA outbox RENAME TO elsewhere");
  end_relays(on);
  await_reason(running, "schema_missing");
  session.exec("ALTER SCHEMA elsewhere RENAME TO outbox");
  await_ready(running);
  session.exec("INSERT INTO outbox.migration VALUES (1000, 'of the future')");
  end_relays(on);
  await_reason(running, "schema_version");
  session.exec("DELETE FROM outbox.migration WHERE version = 1000");
  await_ready(running);
  running.stop();
}

TEST_CASE("a stranger who keeps everybody from leading, and goes") {
  const stage on;
  auto stranger = on.connect();
  stranger.exec(fmt::format("SELECT pg_advisory_lock({}, {})",
                            store::lock_class(*pg::schema_name::parse("outbox")), store::lead_key));
  asked_relay running{on};
  await_reason(running, "locked_out");
  stranger.exec("SELECT pg_advisory_unlock_all()");
  await_ready(running);
  running.stop();
}

TEST_CASE("a confirm that is overdue, and comes") {
  const stage on;
  auto session = on.connect();
  asked_relay running{on, {"--relay-lanes", "1", "--amqp-confirm-timeout", "1m"}};
  on.add_events(1);
  on.await_drained();
  {
    const suspended_queue hangs{on.queue()};
    on.add_events(1);
    await_reason(running, "confirms_overdue");
  }
  await_ready(running);
  on.await_drained();
  running.stop();
}

}  // namespace outboxd::test::readiness_test

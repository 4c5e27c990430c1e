// Timeouts that somebody sets for the whole database mean applications: a relay has its own.
#include <doctest/doctest.h>

#include "asked_relay.hpp"
#include "stage.hpp"

namespace outboxd::test::database_timeouts_test {

TEST_CASE("timeouts that are set for the database end no session of a relay, however slow a mark is") {
  const stage on;
  auto session = on.connect();
  session.exec(
      "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(1); RETURN NEW; "
      "END $$;"
      " CREATE TRIGGER slow BEFORE UPDATE ON outbox.event"
      " FOR EACH ROW WHEN (OLD.aggregate_id = 'slow') EXECUTE FUNCTION slow()");
  // transaction_timeout is of PostgreSQL 17.
  for (const auto& row : session.exec("SELECT format('ALTER DATABASE %I SET %I = 300', current_database(), "
                                      "name) FROM pg_settings WHERE name IN"
                                      " ('statement_timeout', 'lock_timeout', "
                                      "'idle_in_transaction_session_timeout', 'transaction_timeout',"
                                      "  'idle_session_timeout')"))
    session.exec(*row[0]);
  asked_relay running{on};
  await_ready(running);
  session.exec("SELECT outbox.emit('order', 'slow', $1, '{}')", {on.key()});
  eventually(
      "the slow one is marked",
      [&] { return session.number("SELECT count(*) FROM outbox.event WHERE status = 'published'") == 1; },
      time_limit);
  await_sweeps(running);
  CHECK(metric(running, "outboxd_reconnects_total{peer=\"database\"}") == 0);
  CHECK(metric(running, "outboxd_takeovers_total") == 1);
  running.stop();
}

}  // namespace outboxd::test::database_timeouts_test

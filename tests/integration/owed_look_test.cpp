// owed_look_test: a lane that has let go of its shards looks once more, also if nobody rings.
#include <doctest/doctest.h>

#include "stage.hpp"

namespace outboxd::test {

TEST_CASE("what comes in silence to shards that a relay holds leaves when it has let go of them") {
  const stage on;
  relay running{on, {"--relay-sweep-interval", "1h", "--relay-lanes", "1"}};
  running.await_connected();
  on.add_events(1);
  on.await_published(1);

  // Marks wait until the gate is open.
  auto gate = on.connect();
  gate.exec(
      "CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS"
      " 'BEGIN PERFORM pg_advisory_xact_lock(1, 1); RETURN NEW; END'");
  gate.exec("CREATE TRIGGER pause BEFORE UPDATE ON outbox.event FOR EACH ROW EXECUTE FUNCTION pause()");
  gate.exec("SELECT pg_advisory_lock(1, 1)");
  on.add_events(1);
  auto other = on.connect();
  eventually("the relay is about to mark", [&] {
    return other.number(
               "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 1 AND objid = 1"
               " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
               " AND NOT granted") == 1;
  });
  // Another relay, say, has the writers keep silent, and gives that up before the shard is free.
  other.exec("SELECT pg_advisory_lock('outbox.event'::regclass::oid::integer, 64)");
  on.add_events(1);
  other.exec("SELECT pg_advisory_unlock('outbox.event'::regclass::oid::integer, 64)");
  gate.exec("SELECT pg_advisory_unlock(1, 1)");
  on.await_published(3);
  running.stop();
}

}  // namespace outboxd::test

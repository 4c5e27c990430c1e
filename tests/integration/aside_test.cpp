// Events that hands have changed, with the triggers and past them: the column aside, and the search for what it does not show.
#include <doctest/doctest.h>

#include "stage.hpp"
#include "sweeping.hpp"

namespace outboxd::test {

TEST_CASE("an event that somebody makes pending by hand leaves") {
  const stage on;
  relay running{on};
  on.add_events(20, 64);
  on.await_published(1'280);
  consumer reader{on.queue()};
  reader.take(1'280);
  auto session = on.connect();
  session.exec("UPDATE outbox.event SET status = 'pending' WHERE seq = 7");
  CHECK(reader.take(1).size() == 1);
  on.await_published(1'280);
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE aside IS NOT NULL") == 0);
  running.stop();
}

TEST_CASE(
    "an event that came to be pending below the floors, past all triggers, is searched for and leaves") {
  const stage on;
  relay running{on, {"--relay-sweep-interval", "50ms"}};
  on.add_events(20, 64);
  on.await_published(1'280);
  consumer reader{on.queue()};
  reader.take(1'280);
  auto session = on.connect();
  session.exec("SET session_replication_role = replica");
  session.exec("UPDATE outbox.event SET status = 'pending' WHERE seq = 7");
  CHECK(reader.take(1).size() == 1);
  running.stop();
}

TEST_CASE("the search goes through the whole table in portions, and begins again") {
  const stage on;
  auto session = on.connect();
  on.add_events(500, 50);
  finish_all(session);
  sweeping now{on};
  now.look();
  session.exec("SET session_replication_role = replica");
  const auto lost = [&] {
    return session.number("SELECT count(*) FROM outbox.event WHERE status = 'pending' AND aside IS NULL");
  };
  for (int round = 0; round < 2; ++round) {
    session.exec("UPDATE outbox.event SET status = 'pending', aside = NULL WHERE seq % 1000 = 0");
    CHECK(lost() == 25);
    for (const bool last : {false, false, true}) {
      now.search();
      CHECK((lost() == 0) == last);
    }
    CHECK(now.claimed() == 25);
  }
}

TEST_CASE("a pending event that gets another aggregate by hand is found in its new shard") {
  const stage on;
  auto session = on.connect();
  for (int n = 0; n < 100; ++n) emit(session, on, "moved");
  sweeping now{on};
  now.look();
  session.exec("UPDATE outbox.event SET aggregate_id = seq::text");
  CHECK(now.claimed() == 100);
}

TEST_CASE("a status that does not show in the column aside is mended by the search") {
  const stage on;
  auto session = on.connect();
  on.add_events(1, 4);
  session.exec("SET session_replication_role = replica");
  session.exec("UPDATE outbox.event SET status = 'waiting' WHERE seq = 1");
  session.exec("UPDATE outbox.event SET status = 'dead' WHERE seq = 2");
  session.exec("UPDATE outbox.event SET status = 'published', aside = 'pending' WHERE seq = 3");
  sweeping now{on};
  now.look();
  CHECK(now.claimed() == 1);
  now.search();
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE aside IS DISTINCT FROM"
                       " CASE WHEN status IN ('waiting', 'dead') THEN status END") == 0);
  now.look();
  CHECK(now.claimed() == 2);  // the one that waited was due
}

}  // namespace outboxd::test

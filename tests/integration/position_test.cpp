// What has been read is known exactly: no order in which transactions end, and no seq that they bring, hides
// an event.
#include <doctest/doctest.h>

#include <random>
#include <thread>

#include "load.hpp"
#include "partitioned.hpp"
#include "stage.hpp"

namespace outboxd::test::position_test {
namespace {

// One event of an aggregate of its own, in the caller's transaction.
void insert(database& session, const stage& on) {
  session.exec("SELECT outbox.emit('order', gen_random_uuid()::text, $1, '{}')", {on.key()});
}

void check_exact(const stage& on, std::size_t delivered) {
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == delivered);
}

// Rows with these seqs as from another server: in nobody's transaction that is known here. Nobody rings.
void copy_in(database& session, const stage& on, int first, int last) {
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, seq, tx)"
      " SELECT 'order', 'restored-' || n, $1, '{}', n, '3' FROM generate_series($2::int, $3::int) AS n",
      {on.key(), std::to_string(first), std::to_string(last)});
}

std::int64_t last_seq(database& session) {
  return session.number("SELECT max(seq) FROM outbox.event");
}

// Writers whose transactions overlap, end in any order, undo parts of themselves, or are prepared and end in
// another session.
void write_at_random(const stage& on, unsigned seed, int transactions) {
  std::mt19937 random(seed);
  const auto dice = [&](int sides) { return std::uniform_int_distribution<int>(1, sides)(random); };
  std::vector<database> sessions;
  for (int i = 0; i < 5; ++i) sessions.push_back(on.connect());
  std::vector<bool> open(sessions.size());
  for (auto& one : sessions) one.exec("SET outbox.notify = off");  // for those that prepare
  const auto end = [&](std::size_t which) {
    database& session = sessions[which];
    open[which] = false;
    switch (dice(6)) {
      case 1:
        session.exec("ROLLBACK");
        break;
      case 2: {
        const auto name = fmt::format("{}-{}-{}", on.queue(), seed, transactions);
        session.exec(fmt::format("PREPARE TRANSACTION '{}'", name));
        session.exec(fmt::format("{} PREPARED '{}'", dice(4) == 1 ? "ROLLBACK" : "COMMIT", name));
        break;
      }
      default:
        session.exec("COMMIT");
    }
  };
  while (transactions > 0) {
    const auto which = static_cast<std::size_t>(dice(static_cast<int>(sessions.size())) - 1);
    if (!open[which]) {
      sessions[which].exec("BEGIN");
      open[which] = true;
    }
    switch (dice(4)) {
      case 1:
        end(which);
        --transactions;
        break;
      case 2: {
        sessions[which].exec("SAVEPOINT here");
        insert(sessions[which], on);
        if (dice(2) == 1) sessions[which].exec("ROLLBACK TO SAVEPOINT here");
        break;
      }
      default:
        insert(sessions[which], on);
    }
  }
  for (std::size_t i = 0; i < sessions.size(); ++i)
    if (open[i]) end(i);
}

/// Of a relay that has published 100 events and is gone.
void save_position(const stage& on) {
  relay running{on};
  on.add_events(1, 100);
  on.await_published(100);
  running.stop();
}

}  // namespace

TEST_CASE(
    "an event whose transaction was open while a thousand others came and went leaves with its commit") {
  const stage on;
  relay running{on, no_sweep};
  running.await_connected();
  auto early = on.connect();
  early.exec("BEGIN");
  insert(early, on);
  auto late = on.connect();
  late.exec("BEGIN");
  insert(late, on);
  for (int i = 0; i < 10; ++i) {
    on.add_events(1, 100);
    on.await_published(100 * (i + 1));
  }
  late.exec("COMMIT");
  on.await_published(1001);
  early.exec("COMMIT");
  on.await_published(1002);
  check_exact(on, 1002);
  running.stop();
}

TEST_CASE("writers that commit out of order, undo parts and commit in two phases are all published once") {
  const stage on;
  auto session = on.connect();
  relay running{on};
  running.await_connected();
  load orderly{on};
  std::vector<std::thread> writers;
  for (unsigned seed = 1; seed <= 3; ++seed)
    writers.emplace_back([&, seed] { write_at_random(on, seed, 150); });
  for (auto& one : writers) one.join();
  orderly.stop();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE aggregate_id ~ '-.*-'") > 100);
  running.stop();
}

TEST_CASE("the same across relays that are killed") {
  const stage on;
  load orderly{on};
  std::vector<std::thread> writers;
  for (unsigned seed = 11; seed <= 12; ++seed)
    writers.emplace_back([&, seed] { write_at_random(on, seed, 150); });
  auto standing_by = std::make_unique<relay>(on);
  for (int i = 0; i < 6; ++i) {
    auto next = std::make_unique<relay>(on);
    next->await_connected();
    on.await_published(on.count("published") + 100);
    standing_by->send(SIGKILL);
    standing_by = std::move(next);
  }
  for (auto& one : writers) one.join();
  orderly.stop();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  standing_by->stop();
}

TEST_CASE("a sequence that is set back, cached or jumps hides nothing") {
  const unpartitioned_stage on;
  auto session = on.connect();
  relay running{on};
  on.add_events(1, 100);
  on.await_published(100);
  const auto before = last_seq(session);
  session.exec("ALTER SEQUENCE outbox.event_seq RESTART WITH 50");  // some come twice
  on.add_events(1, 100);
  on.await_published(200);
  CHECK(session.number(
            "SELECT count(*) FROM (SELECT FROM outbox.event GROUP BY seq HAVING count(*) > 1) AS twice") > 0);
  session.exec("ALTER SEQUENCE outbox.event_seq RESTART WITH 1");
  on.add_events(1, 10);
  on.await_published(210);
  session.exec("ALTER SEQUENCE outbox.event_seq RESTART WITH 100000000000");
  on.add_events(1, 10);
  on.await_published(220);
  session.exec("ALTER SEQUENCE outbox.event_seq RESTART WITH 200000000000 CACHE 10");
  {
    std::vector<database> sessions;
    for (int i = 0; i < 4; ++i) sessions.push_back(on.connect());
    for (int i = 0; i < 25; ++i)
      for (auto& one : sessions) insert(one, on);
  }
  on.await_published(320);
  session.exec(
      "ALTER SEQUENCE outbox.event_seq MINVALUE -9223372036854775807 RESTART WITH -9223372036854775807 CACHE "
      "1");
  on.add_events(1, 10);
  CHECK(last_seq(session) > before);
  on.await_published(330);
  running.stop();
  const auto report = on.check_all();
  CHECK(report.delivered == 330);
  CHECK(report.duplicates == 0);
  CHECK(report.lost == 0);
}

TEST_CASE(
    "rows that are copied in with xids of another server and seqs long passed, go out "
    "once") {
  const stage on;
  auto session = on.connect();
  relay running{on, {"--relay-sweep-interval", "100ms"}};
  on.add_events(1, 100);
  on.await_published(100);
  copy_in(session, on, -2, 8);
  on.await_published(111);
  running.stop();
  check_exact(on, 111);
}

TEST_CASE("a seq that is set by hand hides nothing, whichever it is") {
  const unpartitioned_stage on;
  auto session = on.connect();
  relay running{on};
  on.add_events(1, 100);
  on.await_published(100);
  std::int64_t published = 100;
  for (const std::string seq :
       {"50", "-5", "0", "1000000", "-9223372036854775807", "9223372036854775807", "100", "101", "102"}) {
    CAPTURE(seq);
    session.exec(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, seq)"
        " VALUES ('order', gen_random_uuid()::text, $1, '{}', $2::bigint)",
        {on.key(), seq});
    on.await_published(++published);
    on.add_events(1, 1);
    on.await_published(++published);
  }
  running.stop();
  const auto report = on.check_all();
  CHECK(report.duplicates == 0);
  CHECK(report.lost == 0);
}

TEST_CASE("events that a replica role inserts, or that bring a tx of their own, are published once") {
  const stage on;
  auto session = on.connect();
  relay running{on};
  on.add_events(1, 100);
  on.await_published(100);
  session.exec("SET session_replication_role = replica");
  for (int i = 0; i < 10; ++i) {
    session.exec(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, tx)"
        " VALUES ('order', $1, $2, '{}', $3::xid8)",
        {std::to_string(i), on.key(), i % 2 == 0 ? "3" : "4611686018427387904"});
    on.await_published(101 + i);
  }
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE tx = '3'") == 0);
  session.exec("RESET session_replication_role");
  check_exact(on, 110);
  running.stop();
}

TEST_CASE("a tx or a seq that is changed by hand stays what it was") {
  const unpartitioned_stage on;
  auto session = on.connect();
  const auto places = [&] { return session.exec("SELECT id, seq, tx FROM outbox.event ORDER BY id"); };
  on.add_events(1, 10);
  const auto before = places();
  session.exec("UPDATE outbox.event SET tx = '3'");
  session.exec("UPDATE outbox.event SET tx = '4611686018427387904', seq = seq + 1000000");
  session.exec("SET session_replication_role = replica");
  session.exec("UPDATE outbox.event SET tx = '3', seq = seq + 1000000");
  session.exec("RESET session_replication_role");
  CHECK(places() == before);
  relay running{on};
  on.await_published(10);
  session.exec("UPDATE outbox.event SET tx = '4611686018427387904'");
  CHECK(places() == before);
  // An upsert that writes all columns changes the place of none.
  session.exec(
      "INSERT INTO outbox.event (id, aggregate_type, aggregate_id, event_type, payload)"
      " SELECT id, aggregate_type, aggregate_id, event_type, payload FROM outbox.event"
      " ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, tx = excluded.tx,"
      " status = excluded.status");
  CHECK(places() == before);
  on.await_drained();
  on.await_published(10);
  history seen;
  on.read_queue(seen);
  CHECK(seen.deliveries() == 20);  // what was published and set to pending goes out again
  running.stop();
}

TEST_CASE("an outbox that was restored from another server is read from its beginning") {
  const stage on;
  auto session = on.connect();
  save_position(on);
  CHECK(session.number("SELECT count(*) FROM outbox.shard WHERE seq IS NOT NULL") == 1);
  // Committed there and not published; here they are below the position, and their ids are of nobody.
  copy_in(session, on, 1, 50);
  session.exec("UPDATE outbox.shard SET system_identifier = 1, saved_by = pg_current_xact_id()");
  relay running{on};
  running.wait_line("the saved position of shard 0 comes from another server", time_limit);
  on.add_events(1, 10);
  check_exact(on, 160);
  running.stop();
  CHECK(running.count_lines("reading from the start") == 1);
  CHECK(session.number("SELECT count(*) FROM outbox.shard WHERE system_identifier = 1") == 0);
}

TEST_CASE("a position that was copied here, by a server with the same identifier, is not taken up") {
  const stage on;
  auto session = on.connect();
  save_position(on);
  // A dump that is older than the position: here these come below it, and with xids that it takes for read.
  session.exec("UPDATE outbox.shard SET seq = 1000000, seen = pg_current_snapshot()");
  on.add_events(1, 50);
  relay running{on};
  running.wait_line("the saved position of shard 0 comes from another server", time_limit);
  check_exact(on, 150);
  running.stop();
  CHECK(running.count_lines("reading from the start") == 1);
}

TEST_CASE("a server that has lost transactions that the position had seen is read from its beginning") {
  const stage on;
  auto session = on.connect();
  save_position(on);
  session.exec(
      "UPDATE outbox.shard SET seen = '4611686018427387907:4611686018427387907:', seq = 1000000, saved_by ="
      " pg_current_xact_id()");
  relay running{on};
  running.wait_line("or this server has lost transactions; reading from the start", time_limit);
  on.add_events(1, 10);
  check_exact(on, 110);
  running.stop();
  CHECK(running.count_lines("reading from the start") == 1);
  CHECK(session.number("SELECT count(*) FROM outbox.shard WHERE pg_snapshot_xmax(seen)::text::numeric < "
                       "4611686018427387904") == 1);
}

TEST_CASE("a position that is lost costs a walk and no event") {
  const stage on;
  auto session = on.connect();
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, published_at)"
      " SELECT 'order', n, $1, '{}', 'published', now() FROM generate_series(1, 100000) AS n",
      {on.key()});
  on.add_events(1, 100);
  for (const std::string change : {"seq = NULL, seen = NULL", "seq = -9223372036854775808",
                                   "unsettled = ARRAY[9, -9223372036854775808]"}) {
    CAPTURE(change);
    const auto before = on.count("published");
    session.exec(fmt::format("UPDATE outbox.shard SET {}, saved_by = pg_current_xact_id()", change));
    relay running{on};
    on.add_events(1, 10);
    on.await_drained();
    CHECK(on.count("published") >= before + 10);
    running.stop();
  }
  history seen;
  on.read_queue(seen);
  CHECK(seen.deliveries() == 130);
}

}  // namespace outboxd::test::position_test

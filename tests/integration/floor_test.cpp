// The floors: claims look past what is finished, and nothing that has to go out is ever below.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "stage.hpp"
#include "sweeping.hpp"

namespace outboxd::test {

TEST_CASE("floors rise over what is finished, and stop at what is pending") {
  const stage on;
  auto session = on.connect();
  on.add_events(10, 20);
  finish_all(session);
  emit(session, on, "pending");
  on.add_events(1, 20);
  session.exec("UPDATE outbox.event SET status = 'published' WHERE aggregate_id <> 'pending'");
  sweeping now{on};
  now.look();
  CHECK(now.settled() == 221);
  CHECK(session.number("SELECT count(DISTINCT shard) FROM outbox.event") > 10);
  CHECK(now.highest() == 222);
  CHECK(now.claimed() == 1);
}

TEST_CASE("no floor passes the seq of a transaction that is still open, a prepared one included") {
  const stage on;
  auto slow = on.connect();
  auto session = on.connect();
  session.exec("ALTER TABLE outbox.event DISABLE TRIGGER event_doorbell");  // PREPARE refuses who has rung
  for (const bool prepared : {false, true}) {
    CAPTURE(prepared);
    sweeping now{on};
    slow.exec("BEGIN");
    emit(slow, on, "slow");
    const auto low = session.number("SELECT last_value FROM outbox.event_seq");
    on.add_events(5, 30);
    finish_all(session);
    now.look();
    now.look();
    if (prepared) slow.exec("PREPARE TRANSACTION '" + on.database_name() + "'");
    now.look();
    now.look();
    CHECK(now.settled() < low);
    CHECK(now.highest() <= low);
    slow.exec(prepared ? "COMMIT PREPARED '" + on.database_name() + "'" : "COMMIT");
    now.look();
    CHECK(now.claimed() == 1);
    finish_all(session);
    now.look();
    CHECK(now.settled() > low);
    CHECK(now.highest() > low);
  }
}

TEST_CASE("writers that come and go without a gap do not keep the floors down") {
  const stage on;
  auto first = on.connect();
  auto second = on.connect();
  sweeping now{on};
  std::int64_t settled = -1;
  first.exec("BEGIN");
  emit(first, on, "first");
  for (int i = 0; i < 5; ++i) {
    now.look();
    CHECK(now.settled() >= settled);
    second.exec("BEGIN");
    emit(second, on, "second");
    first.exec("COMMIT");
    now.look();
    CHECK(now.settled() > settled);
    settled = now.settled();
    std::swap(first, second);
  }
  first.exec("ROLLBACK");
}

TEST_CASE("a sequence that was set back, or hands out seqs in advance, takes the floors away") {
  const stage on;
  auto session = on.connect();
  on.add_events(5, 30);
  finish_all(session);
  sweeping now{on};
  now.look();
  CHECK(now.highest() == 151);
  session.exec("TRUNCATE outbox.event RESTART IDENTITY");
  on.add_events(1, 30);
  now.look();
  CHECK(now.claimed() == 30);
  session.exec("ALTER SEQUENCE outbox.event_seq CACHE 10");
  now.look();
  CHECK_FALSE(now.knows_floors());
}

TEST_CASE("what becomes pending again is claimed from below the floors") {
  const stage on;
  auto session = on.connect();
  const auto emit_later = [&](const std::string& aggregate) {
    session.exec("SELECT outbox.emit('order', $1, 'e', '{}', available_at => now() + interval '1 day')",
                 {aggregate});
  };
  emit_later("due");          // seq 1
  emit_later("head");         // seq 2
  emit(session, on, "head");  // seq 3, behind it
  emit(session, on, "dead");
  emit(session, on, "again");
  session.exec("UPDATE outbox.event SET status = 'waiting', behind = 2 WHERE seq = 3");
  session.exec("UPDATE outbox.event SET status = 'dead' WHERE seq = 4");
  on.add_events(10, 30);
  finish_all(session);
  sweeping now{on};
  now.look();
  now.look();
  CHECK(now.highest() > 300);
  CHECK(now.claimed() == 0);

  session.exec("UPDATE outbox.event SET available_at = now() WHERE seq = 1");
  now.look();
  CHECK(now.claimed() == 1);
  session.exec("DELETE FROM outbox.event WHERE seq = 2");
  CHECK(session.number("SELECT outbox.release_orphans(10)") == 1);
  CHECK(now.claimed() == 2);
  session.exec("SELECT outbox.dead_retry(ARRAY(SELECT id FROM outbox.event WHERE seq = 4))");
  CHECK(now.claimed() == 3);
  session.exec("SELECT outbox.replay(ARRAY(SELECT id FROM outbox.event WHERE seq = 5))");
  CHECK(now.claimed() == 4);
}

TEST_CASE("without floors, an event that is pending again hides none before it") {
  const stage on;
  auto session = on.connect();
  on.add_events(10, 30);
  session.exec("UPDATE outbox.event SET status = 'published' WHERE seq > 290");
  session.exec("SELECT outbox.replay(ARRAY(SELECT id FROM outbox.event WHERE seq > 295))");
  CHECK(sweeping{on}.claimed() == 295);
}

TEST_CASE("an event of a low seq that is committed late still leaves, before the next of its aggregate") {
  const stage on;
  relay running{on, {"--relay-sweep-interval", "50ms"}};
  running.await_connected();
  auto slow = on.connect();
  slow.exec("BEGIN");
  emit(slow, on, "slow");
  auto session = on.connect();
  on.add_events(200, 64);
  on.await_published(12'800);
  std::set<std::string> sweeps;
  eventually("the relay has swept several times", [&] {
    for (const auto& row :
         session.exec("SELECT query_start FROM pg_stat_activity WHERE datname = current_database()"
                      " AND query LIKE '%.sweep(%' AND pid <> pg_backend_pid()"))
      sweeps.insert(row[0].value_or(""));
    return sweeps.size() > 5;
  });
  slow.exec("COMMIT");
  emit(slow, on, "slow");
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 12'802);
  running.stop();
}

TEST_CASE(
    "a claim looks at all shards at once while few events are above the floors, and tells where it began") {
  const stage on;
  auto session = on.connect();
  on.add_events(30, 30);
  finish_all(session);
  sweeping now{on};
  now.look();
  CHECK(now.lowest() == 901);
  on.add_events(10, 30);
  CHECK(now.claimed() == 300);
  CHECK(now.looked_from() == "901");
  finish_all(session);
  CHECK(now.looked_from() == "901");  // whether all that have these seqs have ended is not known yet
  now.look();
  CHECK(now.looked_from() == "1201");
  on.add_events(110, 20);
  CHECK_FALSE(now.looked_from());  // too many
  session.exec("SELECT outbox.replay(ARRAY(SELECT id FROM outbox.event WHERE seq = 5))");
  now.look();
  CHECK_FALSE(now.looked_from());
  CHECK(now.claimed() == 1000);  // a batch
}

TEST_CASE("a relay that starts begins where the floor of all shards has come to") {
  const stage on;
  auto session = on.connect();
  const auto kept = [&] { return session.number("SELECT seq FROM outbox.claim_floor"); };
  on.add_events(50, 60);
  finish_all(session);
  on.add_events(1, 1);
  sweeping{on}.look();
  CHECK(kept() == 3001);
  CHECK(sweeping{on}.claimed() == 1);
  session.exec("TRUNCATE outbox.event RESTART IDENTITY");
  CHECK(kept() == 0);
  on.add_events(1, 20);
  CHECK(sweeping{on}.claimed() == 20);
  // Somebody sets the sequence back, and no trigger sees it.
  session.exec("UPDATE outbox.claim_floor SET seq = 5000");
  sweeping now{on};
  now.look();
  CHECK(kept() == 0);
  CHECK(now.claimed() == 20);
}

TEST_CASE(
    "who remembers nothing sees the floor of all shards rise from sweep to sweep, though there are always "
    "writers") {
  const stage on;
  auto first = on.connect();
  auto second = on.connect();
  auto session = on.connect();
  std::int64_t before = -1;
  first.exec("BEGIN");
  emit(first, on, "first");
  for (int i = 0; i < 4; ++i) {
    on.add_events(10, 20);
    sweeping{on}.look();
    second.exec("BEGIN");
    emit(second, on, "second");
    first.exec("COMMIT");
    finish_all(session);
    sweeping{on}.look();
    const auto kept = session.number("SELECT seq FROM outbox.claim_floor");
    CHECK(kept > before);
    before = kept;
    std::swap(first, second);
  }
  CHECK(before > 600);
  first.exec("ROLLBACK");
}

TEST_CASE("floors without what is settled are as good as none") {
  const stage on;
  auto slow = on.connect();
  auto session = on.connect();
  slow.exec("BEGIN");
  emit(slow, on, "slow");
  on.add_events(5, 30);
  CHECK(
      session.number("SELECT max(f) FROM outbox.sweep(0, array_fill(1::bigint, ARRAY[64]), epoch => 0) AS s,"
                     " unnest(s.floors) AS f") <= 1);
  slow.exec("ROLLBACK");
}

TEST_CASE("after TRUNCATE the floors are forgotten, also if the sequence has passed them already") {
  const stage on;
  auto session = on.connect();
  on.add_events(5, 30);
  finish_all(session);
  sweeping now{on};
  now.look();
  session.exec("BEGIN");
  session.exec("TRUNCATE outbox.event RESTART IDENTITY");
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', n::text, 'e', '{}' FROM generate_series(1, 300) AS n");
  session.exec("COMMIT");
  now.look();
  CHECK(now.claimed() == 300);
}

TEST_CASE("a claim begins behind what the relay has published, and so reads it once") {
  constexpr int events = 6400;
  const stage on;
  auto session = on.connect();
  const auto read = [&] {
    return session.number("SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'event_order'");
  };
  on.add_events(events / 100, 100);
  // One at a time of each shard, so that each claim looks at all of them anew: two reads of each event, and of the finished
  // ones none.
  // With so few bytes the events are too large to be claimed in bulk.
  relay running{on,
                {"--relay-lanes", "1", "--relay-batch", "40", "--relay-batch-bytes", "4000",
                 "--relay-sweep-interval", "60s"}};
  on.await_published(events);
  running.stop();
  eventually("its sessions have ended, and counted", [&] { return on.relay_sessions() == 0; });
  CHECK(read() >= events);
  CHECK(read() < 5 * events / 2);
}

TEST_CASE("shards that the caller's other sessions have locked are not looked at") {
  const stage on;
  on.add_events(1, 64);
  auto session = on.connect();
  const auto looked_at = [&](std::int64_t held) {
    return session.number(
        "SELECT count(*) FROM unnest((SELECT t.shards FROM outbox.take_shards(64, held => $1) AS t))",
        {std::to_string(held)});
  };
  const auto all = looked_at(0);
  REQUIRE(all > 10);
  const auto first = session.number("SELECT min(shard) FROM outbox.event");
  const auto last = session.number("SELECT max(shard) FROM outbox.event");
  REQUIRE(first < last);
  CHECK(looked_at(std::int64_t{1} << first) == all - 1);
  CHECK(looked_at(static_cast<std::int64_t>((std::uint64_t{1} << first) | (std::uint64_t{1} << last))) ==
        all - 2);
  CHECK(looked_at(-1) == 0);
}

TEST_CASE("a mark touches no index: it is a HOT update") {
  const stage on;
  relay running{on};
  on.add_events(10, 1);
  on.await_published(10);
  running.stop();
  auto session = on.connect();
  const auto counted = [&](const std::string& column) {
    return session.number("SELECT " + column + " FROM pg_stat_user_tables WHERE relname = 'event'");
  };
  eventually("the server has counted", [&] { return counted("n_tup_upd") == 10; });
  CHECK(counted("n_tup_hot_upd") == 10);
}

TEST_CASE("with after_publish = delete nothing stays behind, and order and waiting are as ever") {
  const stage on;
  relay running{on, {"--relay-after-publish", "delete"}};
  auto session = on.connect();
  session.exec("SELECT outbox.emit('order', '1', $1, '1', available_at => now() + interval '500 ms')",
               {on.key()});
  for (int n = 2; n <= 50; ++n)
    session.exec("SELECT outbox.emit('order', $1, $2, $3::jsonb)",
                 {std::to_string(n % 2), on.key(), std::to_string(n)});
  consumer reader{on.queue()};
  std::vector<int> ones;
  for (const auto& message : reader.take(50)) {
    const int n = std::stoi(message.body);
    if (n % 2 == 1) ones.push_back(n);
  }
  CHECK(std::is_sorted(ones.begin(), ones.end()));
  CHECK(ones.size() == 25);
  eventually("the table is empty", [&] { return session.number("SELECT count(*) FROM outbox.event") == 0; });
  running.stop();
}

TEST_CASE("an event whose row has moved since it was claimed is marked all the same") {
  const stage on;
  auto session = on.connect();
  relay running{on};
  running.await_connected();
  on.add_events(300, 10);
  // Whatever the relay has claimed meanwhile lies elsewhere now.
  session.exec("UPDATE outbox.event SET last_error = 'moved'");
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(on.count("published") == 3'000);
  running.stop();
}

}  // namespace outboxd::test

// replay and prune: published events once more, and no more.
#include <doctest/doctest.h>

#include "old_rows.hpp"
#include "operator_desk.hpp"
#include "stage.hpp"

namespace outboxd::test::replay_prune_test {

TEST_CASE("a replayed event is delivered once more, the same byte for byte, in its place and at once") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  on.add_events(20, 5);
  relay running{on, no_sweep};
  on.await_published(100);
  consumer reader{on.queue(), 500};
  const auto first = reader.take(100, time_limit);
  const auto rows = session.exec("SELECT id, seq, payload, created_at FROM outbox.event ORDER BY seq");
  CHECK(desk.text({"replay", "--aggregate", "order/3", "--dry-run"})
            .starts_with("replay would change 20 events\n"));
  CHECK(on.count("published") == 100);
  CHECK(desk.text({"replay", "--aggregate", "order/3"}) == "replay: 20 events requeued");
  const auto again = reader.take(20, time_limit);
  std::map<std::string, const delivery*> by_id;
  for (const auto& one : first) by_id[one.message_id()] = &one;
  std::int64_t last = 0;
  for (const auto& one : again) {
    CHECK(one.body == by_id.at(one.message_id())->body);
    const bool same = one.properties == by_id.at(one.message_id())->properties;
    CHECK(same);
    const auto seq = one.properties.headers.at("seq").get<std::int64_t>();
    CHECK(seq > last);
    last = seq;
  }
  on.await_published(100);
  CHECK(session.exec("SELECT id, seq, payload, created_at FROM outbox.event ORDER BY seq") == rows);
  running.stop();
}

TEST_CASE("a span of time is replayed by when events were published, and nothing but published ones") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  for (const auto* age : {"5 h", "3 h", "1 h"}) add_old(session, on, "published", age);
  add_old(session, on, "dead", "3 h");
  add_old(session, on, "waiting", "3 h");
  session.exec("UPDATE outbox.event SET attempts = 4");
  const auto done = desk.json({"replay", "--since", "4h", "--until", "2h"});
  CHECK(done.at("matched") == 1);
  CHECK(done.at("changed") == 1);
  CHECK(session.number(
            "SELECT count(*) FROM outbox.event WHERE exception = 'backing_off' AND published_at IS NULL"
            " AND attempts = 0 AND created_at < now() - interval '2 h'") == 1);
  CHECK(desk.json({"replay", "--all"}).at("changed") == 2);
  CHECK(on.count("dead") == 1);
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE exception = 'backing_off'") == 3);
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE exception = 'scheduled'") == 1);  // as it was
}

TEST_CASE(
    "prune deletes old published events and old records, in portions, and never what is not published") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  add_old(session, on, "published", "8 d", 12'000);
  add_old(session, on, "published", "6 d", 3);
  for (const auto* status : {"pending", "waiting", "dead"}) add_old(session, on, status, "100 d", 2);
  add_processed(session, "8 d", 6'000);
  add_processed(session, "6 d", 4);
  const arguments prune{"prune", "--older-than", "7d"};
  const auto would = desk.json({"prune", "--older-than", "7d", "--dry-run"});
  CHECK(would.at("published_events") == 12'000);
  CHECK(would.at("processed_events") == 6'000);
  CHECK(on.count("published") == 12'003);
  // A transaction that deletes more than a portion would stop at this.
  session.exec(
      "CREATE FUNCTION deleted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
      " IF (SELECT count(*) FROM gone) > 5000 THEN RAISE 'a portion of % rows', (SELECT count(*) FROM gone); "
      "END IF;"
      " RETURN NULL; END $$;"
      "CREATE TRIGGER deleted AFTER DELETE ON outbox.event REFERENCING OLD TABLE AS gone"
      " FOR EACH STATEMENT EXECUTE FUNCTION deleted();"
      "CREATE TRIGGER deleted AFTER DELETE ON outbox.processed_event REFERENCING OLD TABLE AS gone"
      " FOR EACH STATEMENT EXECUTE FUNCTION deleted()");
  const auto done = desk.json(prune);
  CHECK(done.at("published_events") == 12'000);
  CHECK(done.at("processed_events") == 6'000);
  CHECK(on.count("published") == 3);
  CHECK(on.count("pending") == 2);
  CHECK(on.count("waiting") == 2);
  CHECK(on.count("dead") == 2);
  CHECK(session.number("SELECT count(*) FROM outbox.processed_event") == 4);
  CHECK(desk.text(prune).starts_with("pruned 0 published events and 0 records of processed events"));
}

TEST_CASE("prune leaves an event that somebody has locked and does not wait for him") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  add_old(session, on, "published", "8 d", 2);
  auto other = on.connect();
  other.exec("BEGIN; SELECT FROM outbox.event WHERE aggregate_id = '1' FOR UPDATE");
  CHECK(desk.json({"prune", "--older-than", "7d"}).at("published_events") == 1);
  other.exec("COMMIT");
  CHECK(desk.json({"prune", "--older-than", "7d"}).at("published_events") == 1);
}

TEST_CASE("prune goes past more locked rows than a portion, and past a few whose clock was wrong") {
  const stage on;
  auto session = on.connect();
  add_old(session, on, "published", "-400 d", 3);
  add_old(session, on, "published", "8 d", 30);
  auto other = on.connect();
  const auto first = session.number("SELECT min(seq) FROM outbox.event");
  other.exec(fmt::format("BEGIN; SELECT FROM outbox.event WHERE seq BETWEEN {} AND {} FOR UPDATE", first + 3,
                         first + 12));
  const auto pruned = [&] {
    return session.number("SELECT outbox.prune_published(now() - interval '7 d', 5)");
  };
  for (int portion = 0; portion < 4; ++portion) CHECK(pruned() == 5);
  CHECK(pruned() == 0);
  other.exec("COMMIT");
  CHECK(pruned() == 5);
  CHECK(pruned() == 5);
  CHECK(pruned() == 0);
}

TEST_CASE("prune of at most no event deletes none") {
  const stage on;
  auto session = on.connect();
  add_old(session, on, "published", "8 d", 3);
  for (const char* most : {"0", "-1", "NULL"})
    CHECK(session.number(fmt::format("SELECT outbox.prune_published(now() - interval '7 d', {})", most)) ==
          0);
  CHECK(on.count("published") == 3);
  CHECK(session.number("SELECT outbox.prune_published(now() - interval '7 d', 1)") == 1);
}

TEST_CASE("prune without a good age is refused and told what to give") {
  const stage on;
  const operator_desk desk{on};
  for (const auto& [words, said] : std::vector<std::pair<arguments, std::string>>{
           {{"prune"}, "--older-than 7d"},
           {{"prune", "--older-than", "7"}, "--older-than '7'"},
           {{"prune", "--older-than", "-1d"}, "--older-than '-1d'"},
           {{"prune", "--older-than", "2026-01-01"}, "--older-than '2026-01-01'"},
           {{"prune", "--older-than", "99999999d"}, "36500d"},
           {{"prune", "--older-than", "1d", "--all"}, "--all"}}) {
    const auto refused = desk.run(words);
    CHECK_MESSAGE(refused.exited(2), refused.text());
    CHECK_MESSAGE(refused.says(said), refused.text());
  }
}

TEST_CASE("the operator's commands work in schemas with odd names, and wake their relay") {
  for (const std::string name : {"with \"quotes\" and 'apostrophes'", "@schema@ {} %s $1 $$", "größe 😀"}) {
    CAPTURE(name);
    const stage on{{.schema = name}};
    const operator_desk desk{on};
    auto session = on.connect();
    const auto event = session.value("SELECT format('%I.event', $1::text)", {name});
    session.exec(
        fmt::format("INSERT INTO {} (aggregate_type, aggregate_id, event_type, payload, status, exception)"
                    " SELECT 'order', n, $1, '{{}}', 'dead', 'dead' FROM generate_series(1, 3) AS n",
                    event),
        {on.key()});
    relay running{on, no_sweep};
    running.await_connected();
    CHECK(desk.json({"dead", "list"}).size() == 3);
    const auto id = desk.json({"dead", "list", "--aggregate", "order/1"}).at(0).at("id").get<std::string>();
    CHECK(desk.json({"dead", "show", "--id", id}).at("id") == id);
    CHECK(desk.json({"dead", "discard", "--id", id}).at("changed") == 1);
    CHECK(desk.json({"dead", "retry", "--all"}).at("changed") == 2);
    on.await_published(2);
    CHECK(desk.json({"replay", "--aggregate", "order/2"}).at("changed") == 1);
    consumer{on.queue()}.take(3, time_limit);
    on.await_published(2);
    CHECK(desk.json({"prune", "--older-than", "0s"}).at("published_events") == 2);
    running.stop();
  }
}

}  // namespace outboxd::test::replay_prune_test

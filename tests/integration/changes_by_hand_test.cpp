// Changes by hand: status and exception always agree, what is to go out again does, and nobody's place
// changes.
#include <doctest/doctest.h>

#include "stage.hpp"

namespace outboxd::test::changes_by_hand_test {
namespace {

struct beginning {
  std::string name;
  std::string change;  // from pending
  bool due;            // it would leave by itself if it were left alone
};

const std::vector<beginning> beginnings{
    {"pending", "", true},
    {"scheduled", "status = 'waiting', exception = 'scheduled', available_at = now() + interval '1 h'",
     false},
    {"backing_off", "status = 'waiting', exception = 'backing_off', available_at = now() + interval '1 h'",
     false},
    {"parked", "status = 'waiting', exception = 'parked'", true},
    {"published", "status = 'published', published_at = now()", false},
    {"dead", "status = 'dead', last_error = 'the reason'", false},
};

const std::vector<std::string> changes{
    "status = 'pending'",
    "status = 'waiting'",
    "status = 'published'",
    "status = 'dead'",
    "status = 'pending', exception = NULL",
    "status = 'waiting', exception = 'dead'",
    "status = 'waiting', exception = 'scheduled'",
    "status = 'waiting', exception = 'parked'",
    "status = 'published', exception = 'parked'",
    "status = 'dead', exception = NULL",
    "exception = 'backing_off'",
    "exception = NULL",
    "attempts = 3",
    "available_at = now()",
    "headers = '{\"tenant\": \"b\"}'",
};

constexpr auto disagreement =
    "SELECT count(*) FROM outbox.event WHERE (status = 'waiting') <>"
    " (coalesce(exception IN ('scheduled', 'backing_off', 'parked'), false))"
    " OR (status = 'dead') <> (coalesce(exception = 'dead', false)) OR (status = 'published') <> "
    "(published_at IS NOT NULL)";

// An event of an aggregate of its own.
std::string add(database& session, const stage& on, const beginning& from) {
  const auto id = session.value("SELECT outbox.emit('order', gen_random_uuid()::text, $1, '{}')", {on.key()});
  if (!from.change.empty())
    session.exec(fmt::format("UPDATE outbox.event SET {} WHERE id = '{}'", from.change, id));
  return id;
}

void make_due(database& session) {
  session.exec(
      "UPDATE outbox.event SET available_at = now() WHERE status = 'waiting' AND available_at > now()");
}

}  // namespace

TEST_CASE(
    "whatever is changed by hand, status and exception agree, and what is pending or waiting leaves once") {
  const stage on;
  auto session = on.connect();
  std::vector<std::string> all;
  for (const auto& from : beginnings)
    for (const auto& change : changes) {
      CAPTURE(from.name);
      CAPTURE(change);
      const auto id = add(session, on, from);
      session.exec(fmt::format("UPDATE outbox.event SET {} WHERE id = '{}'", change, id));
      CHECK(session.number(disagreement) == 0);
      all.push_back(id);
    }
  // What is pending afterwards was never anything else: the leader has read past the place of the others.
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE status = 'pending'") == 6);
  make_due(session);
  const auto open = session.exec("SELECT id FROM outbox.event WHERE status IN ('pending', 'waiting')");
  CHECK(open.size() > 20);
  relay running{on};
  on.await_drained();
  history seen;
  on.read_queue(seen);
  CHECK(seen.deliveries() == open.size());
  for (const auto& row : open) CHECK(seen.delivered(*row[0]));
  CHECK(session.number(disagreement) == 0);
  running.stop();
}

TEST_CASE("the same beside a relay that runs: nothing is lost, and nothing goes out that is finished") {
  const stage on;
  auto session = on.connect();
  relay running{on};
  on.await_asleep();
  std::vector<std::string> finished;
  for (const auto& from : beginnings) {
    if (from.due) continue;  // it leaves before its change
    for (const auto& change : changes) {
      CAPTURE(from.name);
      CAPTURE(change);
      session.exec("BEGIN");  // or the relay would meet it pending
      const auto id = add(session, on, from);
      session.exec("COMMIT");
      session.exec(fmt::format("UPDATE outbox.event SET {} WHERE id = '{}'", change, id));
      CHECK(session.number(disagreement) == 0);
      const bool ends = change.starts_with("status = 'published'") || change.starts_with("status = 'dead'") ||
                        (!change.starts_with("status") && (from.name == "published" || from.name == "dead"));
      if (ends) finished.push_back(id);
    }
  }
  make_due(session);
  on.await_drained();
  history seen;
  on.read_queue(seen);
  for (const auto& id : finished) CHECK_FALSE(seen.delivered(id));
  CHECK(seen.events() == session.number("SELECT count(*) FROM outbox.event") - finished.size());
  CHECK(seen.deliveries() == seen.events());
  CHECK(session.number(disagreement) == 0);
  running.stop();
}

TEST_CASE(
    "a published event that is set to pending by hand goes out again, at once and as often as it is asked "
    "for") {
  const stage on;
  auto session = on.connect();
  relay running{on, no_sweep};
  on.await_asleep();
  on.add_events(1, 10);
  on.await_published(10);
  for (int i = 0; i < 3; ++i) {
    session.exec("UPDATE outbox.event SET status = 'pending'");
    on.await_published(10);
  }
  history seen;
  on.read_queue(seen);
  CHECK(seen.deliveries() == 40);
  running.stop();
}

TEST_CASE("a change by hand in the middle of a drain loses nothing") {
  const stage on;
  auto session = on.connect();
  relay running{on};
  for (int i = 0; i < 10; ++i) {
    on.add_events(10, 100);
    session.exec("UPDATE outbox.event SET headers = '{\"tenant\": \"b\"}' WHERE seq % 3 = 0");
    session.exec("UPDATE outbox.event SET status = 'waiting' WHERE status = 'pending' AND seq % 3 = 1");
    session.exec("UPDATE outbox.event SET status = 'pending' WHERE status = 'waiting' AND seq % 3 = 1");
  }
  on.await_drained();
  CHECK(on.count("published") == 10'000);
  CHECK(session.number(disagreement) == 0);
  history seen;
  on.read_queue(seen);
  CHECK(seen.events() == 10'000);
  running.stop();
}

TEST_CASE("the aggregate of an event that is not finished cannot be changed, of one that is it can") {
  const stage on;
  auto session = on.connect();
  for (const auto& from : beginnings) {
    CAPTURE(from.name);
    const auto id = add(session, on, from);
    for (const std::string change : {"aggregate_id = 'other'", "aggregate_type = 'other'"}) {
      CAPTURE(change);
      const auto sql = fmt::format("UPDATE outbox.event SET {} WHERE id = '{}'", change, id);
      if (from.name != "published" && from.name != "dead") {
        CHECK_THROWS_WITH_AS(session.exec(sql), doctest::Contains("cannot be changed"), database_error);
        continue;
      }
      session.exec(sql);
    }
  }
}

TEST_CASE("the relay's own role cannot change what an event is, and its marks fire no trigger") {
  const stage on;
  auto session = on.connect();
  session.exec(fmt::format("ALTER DATABASE {} SET track_functions = 'pl'", on.database_name()));
  relay running{on};
  running.await_connected();
  on.add_events(10, 50);
  on.await_drained();
  running.stop();
  eventually("the sessions are closed", [&] { return on.relay_sessions() == 0; });
  CHECK(session.number("SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE funcname IN"
                       " ('keep_place', 'agree_on_status')") == 0);
}

}  // namespace outboxd::test::changes_by_hand_test

// A message that the broker returns is not published: it waits, its aggregate behind it, and nobody else.
#include <doctest/doctest.h>

#include "stage.hpp"

namespace outboxd::test {
namespace {

// A routing key that no queue is bound to, until `bind`.
std::string lost_key(const stage& on) {
  return "unbound-" + on.queue();
}

void insert(database& session, const std::string& aggregate, const std::string& event_type, int count = 1) {
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', $1, $2, '{}' FROM generate_series(1, $3::int)",
      {aggregate, event_type, std::to_string(count)});
}

std::int64_t count(database& session, const std::string& condition) {
  return session.number("SELECT count(*) FROM outbox.event WHERE " + condition);
}

// So soon that no test waits long, and so often that no event dies.
const arguments eager{"--retry-base", "500ms", "--retry-cap", "1s", "--retry-max-attempts", "10000"};

}  // namespace

TEST_CASE("a returned event waits with its reason and its aggregate behind it while others flow") {
  const stage on;
  auto session = on.connect();
  relay running{on, eager};
  insert(session, "stuck", lost_key(on));
  eventually("the event was returned", [&] { return count(session, "attempts > 0") == 1; });
  const auto row = session.exec("SELECT last_error, published_at, behind FROM outbox.event").at(0);
  CHECK_MESSAGE(row[0]->starts_with("returned by the broker: 312 NO_ROUTE"), *row[0]);
  CHECK_FALSE(row[1].has_value());
  CHECK_FALSE(row[2].has_value());

  insert(session, "stuck", on.key(), 3);
  insert(session, "free", on.key(), 3);
  eventually("the other aggregate has left",
             [&] { return count(session, "aggregate_id = 'free' AND status = 'published'") == 3; });
  eventually("the stuck aggregate's later events wait behind", [&] {
    return count(session,
                 "aggregate_id = 'stuck' AND event_type LIKE 'test-%' AND status = 'waiting'"
                 " AND attempts = 0 AND behind = (SELECT min(seq) FROM outbox.event)") == 3;
  });
  CHECK(count(session, "status = 'published'") == 3);

  broker{}.bind(on.queue(), "outbox", lost_key(on));
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 7);
  CHECK(count(session, "status = 'published' AND behind IS NULL") == 7);
  running.stop();
}

TEST_CASE("a returned event holds back its followers of the same batch") {
  const stage on;
  auto session = on.connect();
  session.exec("BEGIN");
  for (int i = 0; i < 20; ++i) {
    const auto aggregate = std::to_string(i);
    insert(session, aggregate, on.key(), 2);
    insert(session, aggregate, lost_key(on));
    insert(session, aggregate, on.key(), 3);
  }
  session.exec("COMMIT");
  relay running{on, eager};
  eventually("all returned events have failed", [&] { return count(session, "attempts > 0") == 20; });
  eventually("their followers wait behind", [&] { return count(session, "behind IS NOT NULL") == 60; });
  CHECK(count(session, "status = 'published'") == 40);
  broker{}.bind(on.queue(), "outbox", lost_key(on));
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 120);
  running.stop();
}

TEST_CASE("thousands of events behind a returned one cost a few claims and are not read again") {
  const stage on;
  auto session = on.connect();
  session.exec(fmt::format("ALTER DATABASE {} SET track_functions = 'pl'", on.database_name()));
  insert(session, "stuck", lost_key(on));
  insert(session, "stuck", on.key(), 5000);
  {
    relay running{on, {"--retry-schedule", "1h"}};
    eventually(
        "all of them wait", [&] { return count(session, "status = 'waiting'") == 5001; }, patience);
    running.stop();
  }
  // 5,000 events in batches of 500 are 10 claims; each lane also looks in vain now and then.
  const auto claims = [&] {
    return session.number(
        "SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE funcname = 'take_shards'");
  };
  eventually("the statistics are there", [&] { return claims() > 0; });
  CHECK(claims() < 100);
}

}  // namespace outboxd::test

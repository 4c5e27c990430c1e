// Guarantee 7, by a table: each odd row is published, dead or waiting for a reason, and nobody else notices.
#include <doctest/doctest.h>

#include "stage.hpp"
#include "support/poison.hpp"

namespace outboxd::test::poison_test {
namespace {

const arguments impatient{"--retry-schedule", "20ms", "--retry-give-up-after", "1s"};

std::string aggregate_of(std::size_t number) {
  return fmt::format("p{}", number);
}

// What is behind it in its aggregate.
void insert_follower(database& session, const poison& what, std::size_t number, const std::string& key) {
  poison follower{.name = "follower", .columns = {}, .status = "published"};
  if (const auto type = what.columns.find("aggregate_type"); type != what.columns.end())
    follower.columns["aggregate_type"] = type->second;
  insert(session, follower, aggregate_of(number), key);
}

void insert_good(database& session, const std::string& key, int count) {
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'good', (n % 500)::text, $1, '{}' FROM generate_series(1, $2::int) AS n",
      {key, std::to_string(count)});
}

// The row, by its place in its aggregate.
struct end {
  std::string status, code, error;
};
end end_of(database& session, std::size_t number) {
  const auto rows = session.exec(
      "SELECT status, coalesce(last_error_code, ''), coalesce(last_error, '') FROM outbox.event"
      " WHERE aggregate_id = $1 ORDER BY seq LIMIT 1",
      {aggregate_of(number)});
  return {*rows.at(0)[0], *rows.at(0)[1], *rows.at(0)[2]};
}

void check_end(database& session, const poison& one, std::size_t number) {
  const end is = end_of(session, number);
  CHECK_MESSAGE(is.status == one.status, one.name << ": " << is.error);
  if (!one.code.empty()) CHECK_MESSAGE(is.code == one.code, one.name << ": " << is.error);
  if (one.status == "dead" && one.columns.count("status") == 0) CHECK_MESSAGE(!is.error.empty(), one.name);
}

// Those that wait for ever have shown that they do.
void forget_scheduled(database& session) {
  session.exec(
      "DELETE FROM outbox.event WHERE status = 'waiting' AND available_at > now() + interval '1 year'");
}

}  // namespace

TEST_CASE(
    "sixty odd rows one after the other: each ends as it should, and those behind and beside it go out") {
  const stage on;
  auto session = on.connect();
  relay running{on, impatient};
  running.await_connected();
  const auto all = poisons();
  REQUIRE(all.size() >= 60);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(all[i].name);
    insert(session, all[i], aggregate_of(i), on.key());
    insert_follower(session, all[i], i, on.key());
    insert_good(session, on.key(), 5);
    eventually("the others are published and it has ended", [&] {
      return session.number(
                 "SELECT count(*) FROM outbox.event WHERE NOT (status IN ('published', 'dead')"
                 " OR status = 'waiting' AND available_at > now() + interval '1 year')") == 0;
    });
    check_end(session, all[i], i);
  }
  forget_scheduled(session);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  running.stop();
}

TEST_CASE(
    "all of them at once among ten thousand good events with two relays: nothing is lost, and order holds") {
  const stage on;
  auto session = on.connect();
  const auto all = poisons();
  session.exec("BEGIN");
  for (std::size_t i = 0; i < all.size(); ++i) {
    insert_good(session, on.key(), static_cast<int>(10'000 / all.size()));
    insert(session, all[i], aggregate_of(i), on.key());
    insert_follower(session, all[i], i, on.key());
  }
  session.exec("COMMIT");
  relay one{on, impatient};
  relay other{on, impatient};
  eventually(
      "all have ended",
      [&] {
        return session.number(
                   "SELECT count(*) FROM outbox.event WHERE status = 'pending' OR status = 'waiting'"
                   " AND available_at < now() + interval '1 year'") == 0;
      },
      time_limit);
  for (std::size_t i = 0; i < all.size(); ++i) check_end(session, all[i], i);
  forget_scheduled(session);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  one.stop();
  other.stop();
}

}  // namespace outboxd::test::poison_test

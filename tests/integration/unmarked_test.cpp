// Events that PostgreSQL does not let a relay mark. The saved position passes them, and only the row of their
// shard names them: for the next leader, for those of new shards, and for whoever asks what is not out.
#include <doctest/doctest.h>

#include "asked_relay.hpp"
#include "large_table.hpp"
#include "operator_desk.hpp"
#include "stage.hpp"

namespace outboxd::test::unmarked_test {
namespace {

/// Nobody may mark an event of the aggregate `bad`.
void refuse_marks(database& session) {
  session.exec(
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not this one'; END $$;"
      " CREATE TRIGGER refuse BEFORE UPDATE ON outbox.event"
      " FOR EACH ROW WHEN (OLD.aggregate_id = 'bad') EXECUTE FUNCTION refuse()");
}

/// Adds an event of the aggregate `bad` that has been due for an hour, and returns its id.
std::string add_bad(database& session, const stage& on) {
  return session.value(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, created_at, available_at)"
      " SELECT 'order', 'bad', $1, '{}', at, at FROM (SELECT now() - interval '1 hour' AS at) AS due"
      " RETURNING id",
      {on.key()});
}

/// Runs a relay until the saved position is above every event.
void let_the_position_pass(const stage& on) {
  relay first{on};
  eventually("the saved position has passed every event", [&] {
    return on.ask("SELECT count(*) FROM outbox.shard WHERE seq >= (SELECT max(seq) FROM outbox.event)") == 1;
  });
  first.stop();
}

/// A relay has published a hundred events, and one that it could not mark.
void leave_one_unmarked(const stage& on, database& session) {
  refuse_marks(session);
  add_bad(session, on);
  on.add_events(10, 10);
  let_the_position_pass(on);
  CHECK(on.count("published") == 100);
}

/// It can be marked now, and is, without a sweep.
void check_found(const stage& on, database& session) {
  session.exec("DROP TRIGGER refuse ON outbox.event");
  relay next{on, no_sweep};
  on.await_published(101);
  next.stop();
}

}  // namespace

TEST_CASE("an event that PostgreSQL did not let the last leader mark is found by the next one") {
  const stage on;
  auto session = on.connect();
  leave_one_unmarked(on, session);
  check_found(on, session);
}

TEST_CASE("events that PostgreSQL did not let a leader mark are found by those of new shards") {
  const stage on;
  auto session = on.connect();
  leave_one_unmarked(on, session);
  const auto done = run_outboxd({"migrate", "--shards", "4"}, on.variables());
  REQUIRE_MESSAGE(done.exited(0), done.text());
  check_found(on, session);
}

TEST_CASE("what could not be marked is in all figures, and is named to those behind it") {
  const stage on;
  auto session = on.connect();
  refuse_marks(session);
  const auto bad = add_bad(session, on);
  const auto behind = add_bad(session, on);
  on.add_events(10, 10);
  let_the_position_pass(on);
  CHECK(on.count("pending") == 2);

  asked_relay second{on};
  eventually("the table is looked at",
             [&] { return metric(second, "outboxd_sample_timestamp_seconds") > 0; });
  CHECK(metric(second, "outboxd_backlog_events") == 2);
  CHECK(metric(second, "outboxd_oldest_due_age_seconds") >= 3'600);
  second.stop();

  pretend_large(session);
  const operator_desk desk{on};
  const auto status = desk.json({"status"});
  CHECK(status.at("events").at("pending").at("count") == 2);
  CHECK(status.at("oldest_due_age_seconds").get<double>() >= 3'600);
  CHECK(desk.json({"trace", "--id", behind}).at("behind").at("id") == bad);
}

}  // namespace outboxd::test::unmarked_test

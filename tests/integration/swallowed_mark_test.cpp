// Guarantees 4 and 7: what the owner of the table puts between a mark and its row (a rule, a BEFORE trigger)
// is told of, costs no duplicate, and nobody else's events anything.
#include <doctest/doctest.h>

#include "clinic.hpp"
#include "stage.hpp"

namespace outboxd::test::swallowed_mark_test {
namespace {

void check_undisturbed(const stage& on, relay& running, std::int64_t leader) {
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(on.leader() == leader);
  running.stop();
}

}  // namespace

TEST_CASE(
    "a rule that swallows the marks of a running relay is told of, and when it is gone all are marked") {
  const stage on;
  auto session = on.connect();
  relay running{on};
  const auto leader = on.await_leader();
  on.add_events(2, 10);
  on.await_published(20);
  session.exec("CREATE RULE \"Swallow\" AS ON UPDATE TO outbox.event DO INSTEAD NOTHING");
  on.add_events(3, 10);
  running.wait_line(
      "a rule of the table replaces the relay's statement: drop the rule that `outboxd check` "
      "names",
      time_limit);
  session.exec("DROP RULE \"Swallow\" ON outbox.event");
  check_undisturbed(on, running, leader);
}

TEST_CASE("a trigger that swallows the mark of one event is told of, and all others are marked") {
  const stage on;
  auto session = on.connect();
  session.exec(
      "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS"
      " 'BEGIN RETURN CASE WHEN new.aggregate_id <> ''7'' THEN new END; END'");
  session.exec(
      "CREATE TRIGGER swallow BEFORE UPDATE ON outbox.event FOR EACH ROW EXECUTE FUNCTION swallow()");
  relay running{on};
  const auto leader = on.await_leader();
  on.add_events(2, 20);
  on.await_published(38);
  running.wait_line("or a trigger leaves them unchanged (`outboxd check` names it)", time_limit);
  const auto check = run_outboxd({"check"}, on.variables());
  CHECK_MESSAGE(check.says("the trigger swallow of outbox.event fires when an event is marked"),
                check.text());
  on.add_events(2, 20);
  on.await_published(76);
  session.exec("DROP TRIGGER swallow ON outbox.event");
  check_undisturbed(on, running, leader);
}

TEST_CASE("a rule that would change what a relay writes is refused at the start and named by check") {
  clinic at;
  const auto gives_up = [&](const arguments& with) {
    arguments words{"run"};
    words.insert(words.end(), with.begin(), with.end());
    const auto result = run_outboxd(words, at.variables);
    CHECK_MESSAGE(result.exited(1), result.text());
    CHECK_MESSAGE(result.says("DROP RULE \"Mine\" ON \"outbox\".event"), result.text());
  };
  at.administer("CREATE RULE \"Mine\" AS ON DELETE TO outbox.event DO INSTEAD NOTHING");
  finds(at, "database.rules", "failure", "\"Mine\"", "DROP RULE \"Mine\" ON outbox.event;");
  gives_up({"--retention-published", "0s"});
  at.administer("DROP RULE \"Mine\" ON outbox.event");
  at.administer("CREATE RULE \"Mine\" AS ON UPDATE TO outbox.event DO ALSO NOTIFY somebody");
  finds(at, "database.rules", "failure", "\"Mine\"", "DROP RULE \"Mine\" ON outbox.event;");
  gives_up({});
  at.administer("DROP RULE \"Mine\" ON outbox.event");
  CHECK(at.check().exited(0));
}

TEST_CASE("rules of INSERT, and columns that are generated, added or dropped, are nothing to a relay") {
  const stage on;
  auto session = on.connect();
  session.exec(
      "CREATE TABLE copied (LIKE outbox.event); "
      "CREATE RULE copy AS ON INSERT TO outbox.event DO ALSO INSERT INTO copied SELECT new.*; "
      "ALTER TABLE outbox.event ADD COLUMN label text GENERATED ALWAYS AS (aggregate_type || aggregate_id) "
      "STORED,"
      " ADD COLUMN passing integer DEFAULT 7; "
      "ALTER TABLE outbox.event DROP COLUMN passing");
  relay running{on};
  const auto leader = on.await_leader();
  on.add_events(5, 20);
  check_undisturbed(on, running, leader);
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE label = aggregate_type || aggregate_id") ==
        100);
}

}  // namespace outboxd::test::swallowed_mark_test

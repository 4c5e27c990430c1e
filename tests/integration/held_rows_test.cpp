// Rows that others hold on to: foreign keys to events, triggers of users that refuse, and indexes of users.
// The rest goes on, and what is in the way is named.
#include <doctest/doctest.h>

#include "asked_relay.hpp"
#include "clinic.hpp"
#include "operator_desk.hpp"
#include "partitioned.hpp"

namespace outboxd::test::held_rows_test {
namespace {

void add_old(database& session, const stage& on, int count) {
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, created_at,"
      " published_at) SELECT 'order', n, $1, '{}', 'published', now() - interval '8 d', now() - interval '8 "
      "d'"
      " FROM generate_series(1, $2::int) AS n",
      {on.key(), std::to_string(count)});
}

// Rows of the application that refer to these events.
void refer_to(database& session, const std::string& aggregates, const std::string& how = "") {
  session.exec(
      fmt::format("CREATE TABLE note (event_id uuid CONSTRAINT note_of_event REFERENCES outbox.event {});"
                  "INSERT INTO note SELECT id FROM outbox.event WHERE aggregate_id IN ({})",
                  how, aggregates));
}

std::size_t lines_with(relay& of, const std::string& words) {
  const auto lines = of.lines();
  return static_cast<std::size_t>(std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.find(words) != std::string::npos;
  }));
}

// An audit of whatever happens to an event, by somebody who forgot the relay's rights.
constexpr auto audit_of_updates =
    "CREATE TABLE audit_log (what text); REVOKE ALL ON audit_log FROM PUBLIC;"
    "CREATE FUNCTION audit_event() RETURNS trigger LANGUAGE plpgsql AS"
    " 'BEGIN INSERT INTO public.audit_log VALUES (new.event_type); RETURN NULL; END';"
    "CREATE TRIGGER audit AFTER UPDATE ON outbox.event FOR EACH ROW {} EXECUTE FUNCTION audit_event()";

}  // namespace

TEST_CASE("prune leaves the events that a foreign key refers to, names it, and deletes all others") {
  for (const auto* how : {"", "DEFERRABLE INITIALLY DEFERRED"}) {
    CAPTURE(how);
    const unpartitioned_stage on;
    const operator_desk desk{on};
    auto session = on.connect();
    add_old(session, on, 12'000);
    refer_to(session, "'1', '777', '778', '12000'", how);
    const auto done = desk.json({"prune", "--older-than", "7d"});
    CHECK(done.at("published_events") == 11'996);
    CHECK(done.at("kept_events") == 4);
    CHECK(done.at("kept_because")
              .get<std::string>()
              .starts_with("the foreign key note_of_event of public.note refers to them"));
    CHECK(on.count("published") == 4);
    CHECK(desk.text({"prune", "--older-than", "7d"})
              .find("4 more events stay: the foreign key note_of_event") != std::string::npos);
    session.exec("DELETE FROM note WHERE event_id = (SELECT id FROM outbox.event WHERE aggregate_id = '1')");
    CHECK(session.number("SELECT outbox.prune_published(now() - interval '7 d', 5000)") == 1);
  }
}

TEST_CASE("prune gets past any number of referred events, a transaction at a time with few subtransactions") {
  const unpartitioned_stage on;
  auto session = on.connect();
  add_old(session, on, 2'000);
  session.exec(
      "CREATE TABLE note (event_id uuid REFERENCES outbox.event);"
      "INSERT INTO note SELECT id FROM outbox.event WHERE aggregate_id::int % 3 = 0");
  session.exec("BEGIN");
  CHECK(session.number("SELECT outbox.prune_published(now() - interval '7 d', 5000)") > 0);
  // Each has an entry in the lock table while the transaction is open.
  CHECK(session.number("SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = "
                       "'transactionid'") <= 51);
  session.exec("COMMIT");
  const operator_desk desk{on};
  CHECK(desk.json({"prune", "--older-than", "7d"}).at("kept_events") == 666);
  CHECK(on.count("published") == 666);
}

TEST_CASE("retention leaves the events that a foreign key refers to, says so once, and deletes all others") {
  const unpartitioned_stage on;
  auto session = on.connect();
  add_old(session, on, 3'000);
  refer_to(session, "'1', '2', '1500'", "DEFERRABLE INITIALLY DEFERRED");
  asked_relay running{on};
  running.wait_line(
      "retention.published: 3 old rows are kept: the foreign key note_of_event of public.note refers to "
      "them",
      time_limit);
  CHECK(metric(running, "outboxd_pruned_total{what=\"published\"}") == 2'997);
  CHECK(on.count("published") == 3);
  CHECK(lines_with(running, "deleting failed") == 0);
  running.stop();
}

TEST_CASE("an event that a trigger will not let go stays, and its trigger is named") {
  const unpartitioned_stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  add_old(session, on, 100);
  session.exec(
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
      " 'BEGIN IF old.aggregate_id = ''50'' THEN RAISE ''canary-%'', old.aggregate_id; END IF; RETURN old; "
      "END';"
      "CREATE TRIGGER keeper BEFORE DELETE ON outbox.event FOR EACH ROW EXECUTE FUNCTION refuse()");
  const auto done = desk.json({"prune", "--older-than", "7d"});
  CHECK(done.at("published_events") == 99);
  CHECK(done.at("kept_because") ==
        "PostgreSQL refuses to delete them (SQLSTATE P0001); triggers for DELETE: keeper");
}

TEST_CASE("check finds foreign keys, triggers and indexes that users have put onto the table") {
  const clinic at;
  at.administer("CREATE TABLE note (event_id uuid CONSTRAINT note_of_event REFERENCES outbox.event)");
  finds(at, "database.references", "warning", "the foreign key note_of_event of public.note",
        "ALTER TABLE public.note DROP CONSTRAINT note_of_event;");
  finds(at, "database.references", "failure", "retention.published = 0s cannot delete",
        "ALTER TABLE public.note DROP CONSTRAINT note_of_event;", {"--retention-published", "0s"});
  at.administer(
      "ALTER TABLE note DROP CONSTRAINT note_of_event,"
      " ADD CONSTRAINT note_of_event FOREIGN KEY (event_id) REFERENCES outbox.event ON DELETE CASCADE");
  CHECK(at.check().says("the foreign key note_of_event of public.note does not keep events"));
  at.administer(fmt::format(audit_of_updates, ""));
  finds(at, "database.user_triggers", "warning",
        "the trigger audit of outbox.event fires when an event is marked as published",
        "ALTER FUNCTION public.audit_event() SECURITY DEFINER");
  at.administer("ALTER FUNCTION audit_event() SECURITY DEFINER");
  CHECK(at.check().says(
      "audit fires when an event is marked as published, with the rights of its function's owner"));
  at.administer("CREATE INDEX by_status ON outbox.event (event_type) WHERE status = 'dead'");
  finds(at, "database.user_indexes", "warning", "the index outbox.by_status depends on status",
        "DROP INDEX CONCURRENTLY outbox.by_status;");
  at.administer("DROP INDEX outbox.by_status; CREATE INDEX by_type ON outbox.event (event_type)");
  CHECK(at.check().says("none on a column that changes when an event is published"));
}

TEST_CASE("a trigger that may not write what it audits is named with the grant that it needs, once") {
  const stage on;
  const login user{"outbox_relay"};
  auto session = on.connect();
  session.exec(fmt::format(audit_of_updates, ""));
  asked_relay running{on, {}, {{"OUTBOXD_DATABASE_URL", user.url(on)}}};
  on.await_leader();
  on.add_events(10, 20);
  const auto line = running.wait_line("PostgreSQL rejected the status update", time_limit);
  const std::string grant = fmt::format(
      "in the function public.audit_event(); GRANT INSERT ON TABLE audit_log TO {}, or ALTER FUNCTION "
      "public.audit_event() SECURITY DEFINER",
      user.name());
  CHECK_MESSAGE(line.find("permission denied for table audit_log (SQLSTATE 42501)") != std::string::npos,
                line);
  CHECK_MESSAGE(line.find(grant) != std::string::npos, line);
  await_reason(running, "marks_refused");
  const auto answer = nlohmann::json::parse(running.get("/readyz").body);
  CHECK(answer.at("reasons").at(0).at("message").get<std::string>().find(grant) != std::string::npos);
  CHECK(lines_with(running, "PostgreSQL rejected the status update") <= 2);
  session.exec(fmt::format("GRANT INSERT ON audit_log TO \"{}\"", user.name()));
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  await_ready(running);
  CHECK(session.number("SELECT count(*) FROM audit_log") == 200);
  running.stop();
  session.exec("DROP TRIGGER audit ON outbox.event; DROP TABLE audit_log");  // with the grant
}

TEST_CASE("an event whose mark is refused for long is a warning while others are marked") {
  const stage on;
  auto session = on.connect();
  const login user{"outbox_relay"};
  session.exec(fmt::format(audit_of_updates, "WHEN (new.aggregate_id = '7')"));
  asked_relay running{on, {}, {{"OUTBOXD_DATABASE_URL", user.url(on)}}};
  on.await_leader();
  on.add_events(1, 20);
  running.wait_line("PostgreSQL rejected the status update", time_limit);
  on.await_published(19);
  on.add_events(1, 1);
  on.await_published(20);
  eventually(
      "it is among the warnings",
      [&] {
        const auto answer = nlohmann::json::parse(running.get("/readyz").body);
        const auto& all = answer.at("warnings");
        return std::any_of(all.begin(), all.end(),
                           [](const auto& one) { return one.at("code") == "marks_refused"; });
      },
      time_limit);
  CHECK(running.get("/readyz").status == 200);
  const operator_desk desk{on};
  eventually(
      "it is in the status when the position is saved",
      [&] { return desk.json({"status"}).at("shards").at(0).at("unwritten") == 1; }, time_limit);
  CHECK(desk.text({"status"}).find("what has become of an event of shard 0: PostgreSQL refuses it") !=
        std::string::npos);
  session.exec("DROP TRIGGER audit ON outbox.event");
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

}  // namespace outboxd::test::held_rows_test

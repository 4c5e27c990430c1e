// A partitioned outbox: made new or from one that is in use, and its periods.
#include "partitioned.hpp"

#include <doctest/doctest.h>

#include <thread>

#include "load.hpp"
#include "login.hpp"

namespace outboxd::test::partition_test {
namespace {

program_result migrate(const stage& on, arguments words) {
  words.insert(words.begin(), "migrate");
  return run_outboxd(words, on.variables());
}

void check_exact(const stage& on) {
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
}

}  // namespace

TEST_CASE("a new outbox can be partitioned, and has two partitions ready") {
  const unpartitioned_stage on;
  const auto done = migrate(on, {"--partition", "hourly"});
  REQUIRE_MESSAGE(done.exited(0), done.text());
  CHECK(done.says("schema \"outbox\": event is partitioned hourly"));
  auto session = on.connect();
  CHECK(current_partition(session) == 1);
  CHECK(attached_partitions(session) == 4);
  relay running{on};
  on.add_events(20, 10);
  check_exact(on);
  CHECK(session.number("SELECT count(*) FROM outbox.event_p1") == 200);
  CHECK(session.number("SELECT min(seq) FROM outbox.event") == partition_width);
  running.stop();
}

TEST_CASE("the same period again changes nothing, another one does, and others are refused") {
  const partitioned_stage on;
  const auto again = migrate(on, {"--partition", "daily"});
  CHECK_MESSAGE(again.exited(0), again.text());
  CHECK(again.says("event is already partitioned daily"));
  const auto other = migrate(on, {"--partition", "hourly"});
  CHECK_MESSAGE(other.exited(0), other.text());
  CHECK(other.says("partitions of event begin hourly instead of daily"));
  CHECK(on.connect().value("SELECT period FROM outbox.partitioning") == "hourly");
  const auto wrong = migrate(on, {"--partition", "weekly"});
  CHECK_MESSAGE(wrong.exited(2), wrong.text());
  CHECK(wrong.says("--partition 'weekly' is not allowed; give daily or hourly"));
}

TEST_CASE("an outbox in use becomes a partitioned one: nothing is lost, nothing comes twice, order is kept") {
  const unpartitioned_stage on;
  on.add_events(100, 20);
  relay running{on};
  running.await_connected();
  load writers{on, {.writers = 3}};
  on.await_published(3'000);
  const auto done = migrate(on, {"--partition", "daily"});
  REQUIRE_MESSAGE(done.exited(0), done.text());
  auto session = on.connect();
  const auto before = session.number("SELECT count(*) FROM outbox.event_p0");
  CHECK(before >= 3'000);
  eventually(
      "new events go into the next partition",
      [&] {
        return session.number("SELECT count(*) FROM outbox.event_p1 WHERE status = 'published'") >= 1'000;
      },
      time_limit);
  CHECK(session.number("SELECT count(*) FROM outbox.event_p0") >= before);
  writers.stop();
  check_exact(on);
  running.stop();
}

TEST_CASE("periods begin under load, and events come once each and in order") {
  const partitioned_stage on;
  relay running{on};
  running.await_connected();
  load writers{on, {.writers = 3}};
  auto session = on.connect();
  for (int round = 0; round < 4; ++round) {
    const auto now = current_partition(session);
    eventually(
        "the partition is used",
        [&] {
          return session.number(fmt::format(
                     "SELECT count(*) FROM outbox.event_p{} WHERE status = 'published'", now)) >= 200;
        },
        time_limit);
    rotate_partition(session);  // nothing, if the relay was quicker
    CHECK(current_partition(session) == now + 1);
    CHECK(session.number("SELECT max(number) FROM outbox.attached_partitions()") == now + 3);
  }
  on.await_published(2'000);
  writers.stop();
  check_exact(on);
  CHECK(session.number("SELECT count(DISTINCT seq >> 32) FROM outbox.event") == 5);
  running.stop();
}

TEST_CASE("a period in which nothing was written makes no partition") {
  const partitioned_stage on;
  auto session = on.connect();
  for (int day = 0; day < 3; ++day) CHECK(rotate_partition(session).empty());
  CHECK(attached_partitions(session) == 4);
}

TEST_CASE("without a relay rows stay in the current partition, and go on into the next one by themselves") {
  const partitioned_stage on;
  auto session = on.connect();
  session.exec("SELECT setval('outbox.event_seq', $1)", {std::to_string(2 * partition_width - 2)});
  on.add_events(3);
  CHECK(session.number("SELECT count(*) FROM outbox.event_p1") == 1);
  CHECK(session.number("SELECT count(*) FROM outbox.event_p2") == 2);
  CHECK(session.exec("SELECT what, number FROM outbox.rotate_partition()") == result_rows{{"made", "4"}});
  CHECK(current_partition(session) == 2);
}

TEST_CASE("a sequence that was set to where no partition is, or back, is mended") {
  const partitioned_stage on;
  auto session = on.connect();
  on.add_events(3);
  for (const std::string to : {"1", "4000000000000000000"}) {
    session.exec("SELECT setval('outbox.event_seq', $1)", {to});
    CHECK(session.exec("SELECT what, number FROM outbox.rotate_partition()") == result_rows{{"mended", "1"}});
    on.add_events(1);
  }
  CHECK(session.number("SELECT count(*) FROM outbox.event_p1") == 5);
  CHECK(session.number("SELECT max(seq) FROM outbox.event") == partition_width + 4);
  session.exec("TRUNCATE outbox.event RESTART IDENTITY");
  session.exec("SELECT outbox.rotate_partition()");
  on.add_events(1);
  relay running{on};
  on.await_drained();
  CHECK(on.count("published") == 1);
  running.stop();
}

TEST_CASE("what would not follow the table into its partition is refused, with what to do about it") {
  const unpartitioned_stage on;
  auto session = on.connect();
  session.exec(
      "CREATE TABLE mine (event uuid CONSTRAINT mine_event REFERENCES outbox.event);"
      "CREATE TABLE tenant (id int PRIMARY KEY);"
      "ALTER TABLE outbox.event ADD tenant int CONSTRAINT event_tenant REFERENCES tenant;"
      "CREATE VIEW seen AS SELECT id FROM outbox.event;"
      "CREATE PUBLICATION told FOR TABLE outbox.event;"
      "CREATE UNIQUE INDEX once ON outbox.event (created_at);"
      "CREATE TABLE outbox.event_p7 (mine int)");
  const auto refused = migrate(on, {"--partition", "daily"});
  CHECK_MESSAGE(refused.exited(1), refused.text());
  for (const char* words :
       {"the foreign key mine_event of public.mine refers to it: ALTER TABLE public.mine DROP CONSTRAINT "
        "mine_event;",
        "it has the foreign key event_tenant to public.tenant: ALTER TABLE outbox.event DROP CONSTRAINT "
        "event_tenant;",
        "the view public.seen reads from it: DROP VIEW public.seen;",
        "the publication told has it: ALTER PUBLICATION told DROP TABLE outbox.event;",
        "the index once of yours is unique", "the table outbox.event_p7 is there already"})
    CHECK_MESSAGE(refused.says(words), refused.text());
  CHECK(session.value("SELECT relkind FROM pg_class WHERE oid = 'outbox.event'::regclass") == "r");
  session.exec(
      "DROP TABLE mine, tenant CASCADE; DROP VIEW seen; DROP PUBLICATION told; DROP INDEX outbox.once;"
      "DROP TABLE outbox.event_p7");
  CHECK(migrate(on, {"--partition", "daily"}).exited(0));
}

TEST_CASE("grants, triggers, indexes and comments of one's own come along") {
  const login reader{""};  // goes after the database, in which it has rights
  const unpartitioned_stage on;
  auto session = on.connect();
  session.exec(
      fmt::format("CREATE FUNCTION mine() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
                  "CREATE TRIGGER mine AFTER INSERT ON outbox.event FOR EACH ROW EXECUTE FUNCTION mine();"
                  "CREATE INDEX mine ON outbox.event (created_at);"
                  "GRANT SELECT ON outbox.event TO {0}; GRANT UPDATE (headers) ON outbox.event TO {0};"
                  "COMMENT ON TABLE outbox.event IS 'my words';"
                  "ALTER TABLE outbox.event SET (autovacuum_vacuum_cost_delay = 3)",
                  reader.name()));
  constexpr auto privileges =
      "SELECT a.privilege_type, a.grantee FROM pg_class AS c CROSS JOIN aclexplode(c.relacl) AS a WHERE "
      "c.oid = "
      "'outbox.event'::regclass UNION ALL SELECT a.privilege_type || t.attname, a.grantee FROM pg_attribute "
      "AS t"
      " CROSS JOIN aclexplode(t.attacl) AS a WHERE t.attrelid = 'outbox.event'::regclass ORDER BY 1, 2";
  const auto granted = session.exec(privileges);
  REQUIRE(migrate(on, {"--partition", "daily"}).exited(0));
  CHECK(session.exec(privileges) == granted);
  CHECK(session.value("SELECT obj_description('outbox.event'::regclass)") == "my words");
  CHECK(session.number("SELECT count(*) FROM pg_trigger WHERE tgname = 'mine'") == 5);
  CHECK(session.number(
            "SELECT count(*) FROM pg_index WHERE pg_get_indexdef(indexrelid) LIKE '%(created_at)'") == 5);
  on.add_events(1);
  rotate_partition(session);
  CHECK(session.value("SELECT array_to_string(reloptions, ' ') FROM pg_class WHERE relname = 'event_p4'")
            .find("autovacuum_vacuum_cost_delay=3") != std::string::npos);
  const auto checked = run_outboxd({"check"}, on.variables());
  for (const char* words : {"ok           database.partitions", "ok           database.indexes",
                            "ok           database.triggers"})
    CHECK_MESSAGE(checked.says(words), checked.text());
}

TEST_CASE("an outbox in a schema with an odd name can be partitioned") {
  stage_options odd;
  odd.schema = "with \"quotes\" and 'apostrophes'";
  const unpartitioned_stage on{odd};
  const auto done = migrate(on, {"--partition", "daily"});
  REQUIRE_MESSAGE(done.exited(0), done.text());
  auto session = on.connect();
  const auto in = [&](const std::string& name) {
    return session.value("SELECT format('%I.%I', $1::text, $2::text)", {on.schema(), name});
  };
  const auto add = [&] {
    session.exec("INSERT INTO " + in("event") + " (aggregate_type, aggregate_id, event_type, payload)" +
                     " VALUES ('order', '1', $1, '{}')",
                 {on.key()});
  };
  add();
  session.exec("UPDATE " + in("event_partition") + " SET began_at = began_at - interval '25 h'");
  relay running{on};
  running.wait_line("partition event_p2 begins", time_limit);
  running.wait_line("partition event_p4 is ready", time_limit);
  add();
  on.await_published(2);
  const auto status = run_outboxd({"status"}, on.variables());
  CHECK_MESSAGE(status.says("daily, 3 in use"), status.text());
  running.stop();
}

TEST_CASE("the printed SQL does the same") {
  const unpartitioned_stage on;
  const auto printed = migrate(on, {"--print", "--partition", "hourly"});
  REQUIRE(printed.exited(0));
  stage_options empty;
  empty.migrated = false;
  const unpartitioned_stage other{empty};
  auto session = other.connect();
  const auto script = printed.text();
  // One transaction each, as psql does it.
  constexpr std::string_view first_end = "\n$migrate$;";
  const auto rest_begins = script.find(first_end) + first_end.size();
  session.exec(script.substr(0, rest_begins));
  std::istringstream rest(script.substr(rest_begins));
  for (std::string one; std::getline(rest, one, ';');)
    if (one.find("outbox") != std::string::npos) session.exec(one);
  CHECK(attached_partitions(session) == 4);
  CHECK(session.value("SELECT period FROM outbox.partitioning") == "hourly");
}

}  // namespace outboxd::test::partition_test

// What PostgreSQL lets every user see, and an administrator has taken away: the relay can do without what
// it can do without, and names the rest. And tables that hide their rows.
#include <doctest/doctest.h>

#include "clinic.hpp"
#include "store/rights.hpp"

namespace outboxd::test::open_to_all_test {
namespace {

/// ON FUNCTION f(args) or ON TABLE name, of PostgreSQL's own.
std::string place_of(database& admin, std::string_view name) {
  return admin.value(
      fmt::format("SELECT coalesce((SELECT 'FUNCTION ' || string_agg(p.oid::regprocedure::text, ', ')"
                  " FROM pg_proc AS p WHERE p.proname = '{0}' AND p.pronamespace ="
                  " 'pg_catalog'::regnamespace), 'TABLE {0}')",
                  name));
}

std::string said_line(const program_result& checked, std::string_view name) {
  for (std::size_t i = 0; i + 1 < checked.lines.size(); ++i)
    if (checked.lines[i].find(name) != std::string::npos) return checked.lines[i] + checked.lines[i + 1];
  return {};
}

}  // namespace

TEST_CASE("without what it can do without, a relay publishes, says so once, and check names the grants") {
  const clinic at;
  auto admin = at.on.connect();
  REQUIRE(run_outboxd({"migrate", "--shards", "2"}, at.on.variables()).exited(0));  // relays are counted
  for (const auto name : store::dispensable)
    admin.exec(fmt::format("REVOKE ALL ON {} FROM PUBLIC", place_of(admin, name)));
  relay running{at.on, {}, at.variables};
  running.await_connected();
  at.on.add_events(3, 3);
  at.on.await_drained();
  // It sleeps, and is woken up.
  at.on.await_asleep();
  at.on.add_events(3, 3);
  at.on.await_drained();
  CHECK(running.count_lines("can do without") == 1);
  CHECK(running.count_lines("trying again") == 0);
  running.stop();
  const auto checked = at.check();
  CAPTURE(checked.text());
  CHECK(checked.exited(0));
  const auto line = said_line(checked, " database.privileges: ");
  CHECK(line.starts_with("warning"));
  admin.exec(line.substr(line.find("GRANT ")));
  CHECK(said_line(at.check(), " database.privileges: ").starts_with("ok"));
  relay again{at.on, {}, at.variables};
  again.await_connected();
  CHECK(again.count_lines("can do without") == 0);
}

TEST_CASE("what a relay needs of PostgreSQL's own is named, and the grant gives it") {
  const clinic at;
  auto admin = at.on.connect();
  for (const char* name : {"pg_backend_pid", "pg_try_advisory_lock", "pg_locks"}) {
    CAPTURE(name);
    admin.exec(fmt::format("REVOKE ALL ON {} FROM PUBLIC", place_of(admin, name)));
    const auto line = said_line(at.check(), " database.privileges: ");
    CHECK_MESSAGE(line.starts_with("failure"), line);
    relay running{at.on, {}, at.variables};
    const auto told = running.wait_line("GRANT ");
    CHECK_MESSAGE(told.find(name) != std::string::npos, told);
    admin.exec(line.substr(line.find("GRANT ")));
    CHECK(said_line(at.check(), " database.privileges: ").starts_with("ok"));
  }
}

TEST_CASE("a right that is taken away while the relay runs is told once, and events leave when it is back") {
  const clinic at;
  auto admin = at.on.connect();
  relay running{at.on, {}, at.variables};
  running.await_connected();
  at.on.add_events(1);
  at.on.await_drained();
  admin.exec("REVOKE SELECT ON outbox.event FROM outbox_relay");
  at.on.add_events(1);
  running.wait_line("GRANT SELECT ON TABLE outbox.event TO outbox_relay; trying again");
  admin.exec("GRANT SELECT ON TABLE outbox.event TO outbox_relay");
  at.on.await_drained();
  CHECK(running.count_lines("GRANT SELECT ON TABLE outbox.event") == 1);
}

TEST_CASE("migrate makes tables that hide no rows, whatever an event trigger does, and mends those that do") {
  const stage on{{.migrated = false}};
  auto admin = on.connect();
  admin.exec(
      "CREATE FUNCTION hide() RETURNS event_trigger LANGUAGE plpgsql AS $$ DECLARE one record; BEGIN"
      " FOR one IN SELECT * FROM pg_event_trigger_ddl_commands() WHERE command_tag = 'CREATE TABLE' LOOP"
      " EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', one.objid::regclass); END LOOP; END $$;"
      "CREATE EVENT TRIGGER hide ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION hide()");
  const auto hidden = [&] {
    return admin.number(
        "SELECT count(*) FROM pg_class WHERE relnamespace = 'outbox'::regnamespace AND"
        " relrowsecurity");
  };
  for (const arguments& words : {arguments{"migrate"}, arguments{"migrate", "--partition", "daily"}}) {
    const auto done = run_outboxd(words, on.variables());
    REQUIRE_MESSAGE(done.exited(0), done.text());
    CHECK(hidden() == 0);
  }
  for (const auto& row : admin.exec("SELECT relname FROM pg_class WHERE relnamespace = 'outbox'::regnamespace"
                                    " AND relkind IN ('r', 'p') AND NOT relispartition")) {
    CAPTURE(*row[0]);
    admin.exec(fmt::format("ALTER TABLE outbox.{} ENABLE ROW LEVEL SECURITY", *row[0]));
    const auto said = run_outboxd({"migrate", "--check"}, on.variables());
    CHECK(said.exited(1));
    CHECK_MESSAGE(said.says("row-level security is enabled on " + *row[0]), said.text());
    const auto done = run_outboxd({"migrate"}, on.variables());
    CHECK_MESSAGE(done.exited(0), done.text());
    CHECK(hidden() == 0);
  }
}

TEST_CASE("check names each table that hides rows from a relay, and its remedy shows them") {
  const clinic at;
  auto admin = at.on.connect();
  for (const char* name : {"event", "shard", "migration", "pause"}) {
    CAPTURE(name);
    admin.exec(fmt::format("ALTER TABLE outbox.{} ENABLE ROW LEVEL SECURITY", name));
    const auto said = at.check();
    CAPTURE(said.text());
    CHECK(said.exited(1));
    const auto line = said_line(said, " database.row_security: ");
    const auto mends = line.find("ALTER TABLE ");
    REQUIRE(mends != std::string::npos);
    CHECK(line.find(fmt::format("row-level security on outbox.{} hides rows", name)) != std::string::npos);
    {
      relay running{at.on, {}, at.variables};
      running.wait_line(line.substr(mends, line.find(';', mends) - mends));
    }
    admin.exec(line.substr(mends));
    CHECK(at.check().exited(0));
  }
}

TEST_CASE("policies of somebody's own are named as long as they hide rows from a relay, and stay") {
  const clinic at;
  auto admin = at.on.connect();
  admin.exec("CREATE POLICY mine ON outbox.event; ALTER TABLE outbox.event ENABLE ROW LEVEL SECURITY");
  const auto policies = [&] { return admin.number("SELECT count(*) FROM pg_policy"); };
  const auto left = run_outboxd({"migrate"}, at.on.variables());
  CHECK(left.exited(1));
  CHECK_MESSAGE(left.says("policies that are not outboxd's: mine; migrate does not change it"), left.text());
  CHECK(policies() == 1);
  const auto line = said_line(at.check(), " database.row_security: ");
  const auto mends = line.find("ALTER ROLE ");
  REQUIRE(mends != std::string::npos);
  admin.exec(line.substr(mends));
  CHECK_MESSAGE(at.check().exited(0), at.check().text());
  CHECK(policies() == 1);
}

}  // namespace outboxd::test::open_to_all_test

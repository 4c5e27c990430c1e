// outboxd check: faults planted one by one on the real PostgreSQL, or in the configuration, are named, each
// with its remedy; a sound set-up has none.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "clinic.hpp"
#include "pooler.hpp"
#include "private_server.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::test::check_test {

TEST_CASE("check finds nothing wrong with a sound set-up, beside a running relay, and exits 0") {
  const clinic at;
  relay running{at.on};
  at.on.await_asleep();
  const auto done = at.check();
  CAPTURE(done.text());
  CHECK(done.exited(0));
  CHECK(done.lines.size() >= 25);
  for (const auto& line : done.lines)
    CHECK_MESSAGE((line.starts_with("ok ") || line.starts_with("not checked  broker.policies")), line);
  at.on.add_events(3);
  const auto report = at.on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

TEST_CASE("check --json is an array of objects with name, verdict, words and remedy") {
  const clinic at;
  const auto sound = at.findings();
  REQUIRE(sound.is_array());
  for (const auto& one : sound) {
    CHECK(one.size() == 4);
    CHECK((one["verdict"] == "ok" || one["name"] == "broker.policies"));
    CHECK(one["remedy"].is_null());
  }
  at.administer("ALTER SEQUENCE outbox.event_seq CACHE 10");
  int warnings = 0;
  for (const auto& one : at.findings())
    if (one["verdict"] == "warning") {
      ++warnings;
      CHECK(read(one, "name") == "database.sequence");
      CHECK(read(one, "remedy") == "ALTER SEQUENCE outbox.event_seq CACHE 1;");
    }
  CHECK(warnings == 1);
}

TEST_CASE("check names a login to PostgreSQL that is refused, and looks at RabbitMQ all the same") {
  clinic at;
  at.variables["OUTBOXD_DATABASE_URL"] = at.user.url(at.on, canary);
  finds(at, "database.login", "failure", "password authentication failed",
        fmt::format("ALTER ROLE {} PASSWORD", at.user.name()));
  for (const auto& one : at.findings()) {
    const auto name = read(one, "name");
    if (name.starts_with("database.") && name != "database.login") CHECK(one["verdict"] == "not_checked");
    if (name.starts_with("broker.") && name != "broker.policies") CHECK(one["verdict"] == "ok");
  }
  at.variables["OUTBOXD_DATABASE_URL"] = with_database(at.on.database_url(), "no_such_database");
  finds(at, "database.login", "failure", "does not exist", "CREATE DATABASE no_such_database;");
  at.variables["OUTBOXD_DATABASE_URL"] = fmt::format("postgresql://user:{}@127.0.0.1:1/d", canary);
  finds(at, "database.login", "failure", "refused", "pg_isready -h 127.0.0.1 -p 1");
}

TEST_CASE("check names an outbox that is missing, too new or too old") {
  clinic at;
  finds(at, "database.schema", "failure", "no outbox in schema elsewhere", "outboxd migrate",
        {"--schema", "elsewhere"});
  at.administer("INSERT INTO outbox.migration SELECT max(version) + 1, 'the next' FROM outbox.migration");
  finds(at, "database.schema", "warning", "it works with both", "install the outboxd that migrated it");
  at.administer("INSERT INTO outbox.migration VALUES (1000, 'of the future')");
  finds(at, "database.schema", "failure", "version 1000", "install the outboxd that migrated it");
  at.administer("DELETE FROM outbox.migration; INSERT INTO outbox.migration VALUES (1, 'the first')");
  finds(at, "database.schema", "failure", "has version 1,", "outboxd migrate");
}

TEST_CASE("check names triggers and indexes that are disabled or gone, and its remedies mend them") {
  const clinic at;
  // Word for word what it prints.
  const auto mend = [&](const char* name) {
    for (const auto& one : at.findings())
      if (one["name"] == name) at.administer(read(one, "remedy"));
    CHECK(at.check().exited(0));
  };
  at.administer("ALTER TABLE outbox.event DISABLE TRIGGER event_keep_place");
  finds(at, "database.triggers", "failure", "event_keep_place of outbox.event is disabled",
        "ALTER TABLE outbox.event ENABLE ALWAYS TRIGGER event_keep_place;");
  mend("database.triggers");
  at.administer("ALTER TABLE outbox.event ENABLE TRIGGER event_keep_place");
  finds(at, "database.triggers", "warning",
        "event_keep_place of outbox.event fires only in ordinary sessions",
        "ENABLE ALWAYS TRIGGER event_keep_place;");
  mend("database.triggers");
  at.administer("ALTER TABLE outbox.event ENABLE ALWAYS TRIGGER event_take_over");
  finds(at, "database.triggers", "warning", "event_take_over of outbox.event fires in all sessions",
        "ENABLE REPLICA TRIGGER event_take_over;");
  for (const std::string name : {"event_take_over", "event_keep_place", "event_agree_on_status"}) {
    at.administer(fmt::format("DROP TRIGGER {} ON outbox.event", name));
    finds(at, "database.triggers", "failure", name + " of outbox.event is gone", "CREATE TRIGGER " + name);
    mend("database.triggers");
  }
  at.administer("DROP INDEX outbox.event_held");
  finds(at, "database.indexes", "failure", "event_held", "CREATE INDEX event_held ON");
  mend("database.indexes");
}

TEST_CASE("check names a default that does not ring, and migrate makes it anew") {
  const clinic at;
  at.administer("ALTER TABLE outbox.event ALTER tx SET DEFAULT pg_current_xact_id()");
  finds(at, "database.state", "failure",
        "the column tx of event has the default pg_current_xact_id() instead of", "outboxd migrate");
  REQUIRE(run_outboxd({"migrate"}, at.on.variables()).exited(0));
  CHECK(at.check().exited(0));
}

TEST_CASE("check names row-level security that hides events") {
  const clinic at;
  at.administer("ALTER TABLE outbox.event ENABLE ROW LEVEL SECURITY");
  finds(at, "database.row_security", "failure", "row-level security on outbox.event",
        "ALTER TABLE outbox.event DISABLE ROW LEVEL SECURITY;");
}

TEST_CASE("check names what the relay's user lacks") {
  clinic at;
  const login stranger{""};
  at.administer(fmt::format("GRANT USAGE ON SCHEMA outbox TO {}", stranger.name()));
  at.variables["OUTBOXD_DATABASE_URL"] = stranger.url(at.on);
  const auto grant = fmt::format("GRANT outbox_relay TO {};", stranger.name());
  finds(at, "database.schema", "failure", "is not a member of outbox_relay", grant);
  finds(at, "database.privileges", "failure", "is not a member of outbox_relay", grant);
  at.administer(fmt::format("REVOKE USAGE ON SCHEMA outbox FROM {}", stranger.name()));
  finds(at, "database.schema", "failure", "is not a member of outbox_relay", grant);

  at.variables["OUTBOXD_DATABASE_URL"] = at.user.url(at.on);
  at.administer("REVOKE UPDATE (last_error) ON outbox.event FROM outbox_relay");
  finds(at, "database.privileges", "failure", "UPDATE (last_error) on outbox.event",
        "GRANT UPDATE (last_error) ON TABLE outbox.event TO outbox_relay;");
  at.administer(
      "GRANT UPDATE (last_error) ON TABLE outbox.event TO outbox_relay; REVOKE DELETE ON outbox.event FROM "
      "outbox_relay");
  CHECK(at.check({"--retention-published", "never"}).exited(0));
  finds(at, "database.privileges", "failure", "DELETE on outbox.event",
        "GRANT DELETE ON TABLE outbox.event TO outbox_relay;");
  finds(at, "database.privileges", "failure", "DELETE on outbox.event",
        "GRANT DELETE ON TABLE outbox.event TO outbox_relay;", {"--retention-published", "0s"});
  at.administer(
      "GRANT DELETE ON outbox.event TO outbox_relay; REVOKE EXECUTE ON FUNCTION outbox.forget_processed FROM "
      "outbox_relay");
  CHECK(at.check().exited(0));
  finds(at, "database.privileges", "failure", "EXECUTE on function outbox.forget_processed",
        "TO outbox_relay;", {"--retention-processed", "90d"});
}

TEST_CASE("check names settings of a role or database that hurt, and tells those that a relay overrides") {
  const clinic at;
  const auto alter = [&](const std::string& what) {
    at.administer(fmt::format("ALTER ROLE {} {}", at.user.name(), what));
  };
  alter("SET statement_timeout = '999ms'");
  finds(at, "database.settings", "warning", "statement_timeout = 999ms",
        fmt::format("ALTER ROLE {} RESET statement_timeout;", at.user.name()));
  alter("SET statement_timeout = '1h'");
  alter("SET search_path = nowhere");
  const auto done = at.check();
  CHECK_MESSAGE(done.exited(0), done.text());
  CHECK_MESSAGE(done.says("search_path = nowhere (user), statement_timeout = 1h (user)"), done.text());
  CHECK_FALSE(done.says("warning"));
  alter("RESET ALL");
  at.administer(
      fmt::format("ALTER DATABASE {} SET default_transaction_read_only = on", at.on.database_name()));
  finds(at, "database.writable", "failure", "read-only",
        fmt::format("ALTER DATABASE {} RESET default_transaction_read_only;", at.on.database_name()));
}

TEST_CASE("check names a sequence that is cached and a table without autovacuum") {
  const clinic at;
  at.administer("ALTER SEQUENCE outbox.event_seq CACHE 10");
  finds(at, "database.sequence", "warning", "cached (10)", "ALTER SEQUENCE outbox.event_seq CACHE 1;");
  // The table, or the partition that is written to.
  at.administer(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload) VALUES ('order', '1', "
      "'e', '{}')");
  const auto table = at.on.connect().value("SELECT tableoid::regclass FROM outbox.event");
  at.administer("ALTER TABLE " + table + " SET (autovacuum_enabled = false)");
  finds(at, "database.autovacuum", "warning", "switched off for " + table + ",",
        "ALTER TABLE " + table + " RESET (autovacuum_enabled);");
}

TEST_CASE("check names where commits of writers are not waited for") {
  const clinic at;
  const login writer{"outbox_writer"};
  const login stranger{""};
  const auto database = at.on.database_name();
  const auto off = [](const std::string& role) {
    return "ALTER ROLE " + role + " SET synchronous_commit = off";
  };
  // Neither of them inserts events. A relay that is not led astray by them sets its own.
  at.administer(off(stranger.name()));
  at.administer(off(at.user.name()));
  const auto sound = at.check();
  CHECK_MESSAGE(sound.exited(0), sound.text());
  CHECK_FALSE_MESSAGE(sound.says("warning"), sound.text());
  at.administer(off(writer.name()));
  finds(at, "database.commits", "warning", "synchronous_commit is off for role " + writer.name() + ":",
        "ALTER ROLE " + writer.name() + " RESET synchronous_commit;");
  at.administer("ALTER ROLE " + writer.name() + " RESET synchronous_commit");
  at.administer("ALTER ROLE " + writer.name() + " IN DATABASE " + database +
                " SET synchronous_commit = false");
  const auto in_database = "ALTER ROLE " + writer.name() + " IN DATABASE " + database;
  finds(at, "database.commits", "warning", "role " + writer.name() + " in database " + database,
        in_database + " RESET synchronous_commit;");
  at.administer(in_database + " SET synchronous_commit = local");
  at.administer("ALTER DATABASE " + database + " SET synchronous_commit = off");
  const auto remedy = "ALTER ROLE ALL IN DATABASE " + database + " RESET synchronous_commit;";
  finds(at, "database.commits", "warning", "off for database " + database + ":", remedy);
  at.administer(remedy);
  CHECK_FALSE(at.check().says("warning"));
}

TEST_CASE("check names who has held back vacuum for more than an hour, with how to end it") {
  const stage on;
  auto session = on.connect();
  const std::string rows =
      "WITH pg_stat_activity AS (SELECT 4711 AS pid, 'shop' AS usename, 'psql' AS "
      "application_name, '3'::xid AS backend_xmin, NULL AS backend_xid, current_database() AS "
      "datname, clock_timestamp() - interval '{} s' AS xact_start), pg_prepared_xacts AS ("
      "SELECT E'gid\\'s' AS gid, current_database() AS database, clock_timestamp() - interval "
      "'{} s' AS prepared), pg_replication_slots AS (SELECT 'old' AS slot_name, '3'::xid AS "
      "xmin, {} AS active) SELECT verdict || ': ' || words || ': ' || remedy FROM ({}) AS f "
      "(verdict, words, remedy)";
  // The statement, with rows instead of PostgreSQL's views.
  std::ifstream file{CHECK_STATEMENTS "/snapshots.sql"};
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  REQUIRE_FALSE(text.empty());
  const auto found = [&](int session_age, int prepared_age, bool slot_used) {
    return session.value(fmt::format(fmt::runtime(rows), session_age, prepared_age, slot_used, text));
  };
  CHECK(found(3590, 3590, true).starts_with("ok: none that holds back vacuum for an hour"));
  CHECK(
      found(3610, 3590, true) ==
      "warning: pid 4711 (user shop, application psql) has been in a transaction for 60 min, and holds back "
      "vacuum: SELECT pg_terminate_backend(4711);");
  CHECK(found(3610, 7210, false) ==
        "warning: transaction 'gid''s' was prepared 120 min ago, and holds back vacuum: ROLLBACK PREPARED "
        "'gid''s';");
  const auto slot = found(0, 0, false);
  CHECK_MESSAGE(slot.starts_with("warning: replication slot 'old' is unused, and holds back vacuum by "),
                slot);
  CHECK_MESSAGE(slot.ends_with(" transactions: SELECT pg_drop_replication_slot('old');"), slot);
}

TEST_CASE("check names a session whose lock is in the way") {
  const clinic at;
  auto session = at.on.connect();
  const auto lead = fmt::format("({}, 0)", store::lock_class(*pg::schema_name::parse("outbox")));
  session.exec("SELECT pg_advisory_lock" + lead);
  const auto remedy = fmt::format("SELECT pg_terminate_backend({});", session.backend_pid());
  finds(at, "database.locks", "failure", "no relay can lead shard 0", remedy);
  session.exec("SELECT pg_advisory_unlock" + lead);
  session.exec("BEGIN; LOCK TABLE outbox.event IN EXCLUSIVE MODE");
  finds(at, "database.locks", "failure", "cannot be read or marked", remedy);
  session.exec("ROLLBACK");
}

TEST_CASE("check names connection limits that are too low for a relay") {
  const clinic at;
  at.administer(fmt::format("ALTER ROLE {} CONNECTION LIMIT 2", at.user.name()));
  finds(at, "database.connections", "warning", "has 2 connections left",
        fmt::format("ALTER ROLE {} CONNECTION LIMIT -1;", at.user.name()));
}

TEST_CASE("check names a pooler that changes the session between transactions, and takes one that does not") {
  clinic at;
  const pooler transaction{"transaction"};
  at.variables["OUTBOXD_DATABASE_URL"] = transaction.url(at.on);
  finds(at, "database.pooler", "failure", "in session mode", "pool_mode = session");
  const pooler session{"session"};
  at.variables["OUTBOXD_DATABASE_URL"] = session.url(at.on);
  const auto done = at.check();
  CHECK_MESSAGE(done.exited(0), done.text());
  CHECK_MESSAGE(done.says("a pool in session mode"), done.text());
}

TEST_CASE("check names a file with a secret that everybody can read") {
  const clinic at;
  const server_directory own;
  const auto file = own.write("amqp_url", required_environment("OUTBOXD_AMQP_URL"));
  std::filesystem::permissions(own.path(), std::filesystem::perms{0755});
  std::filesystem::permissions(file, std::filesystem::perms{0644});
  finds(at, "configuration", "warning", "everybody can read " + file, "chmod 600 " + file,
        {"--amqp-url-file", file});
}

TEST_CASE("check with a wrong configuration exits 2, and says where the settings come from") {
  clinic at;
  at.variables["OUTBOXD_RELAY_LANES"] = "many";
  const auto done = at.check();
  CHECK(done.exited(2));
  CHECK(done.lines.size() == 1);
  at.variables.erase("OUTBOXD_RELAY_LANES");
  CHECK(at.check({"--relay-lanes", "3"}).says("from the environment, flags"));
}

}  // namespace outboxd::test::check_test

// outboxd migrate: once, twice, two at once, by psql, interrupted, and refused.
#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "stage.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::test::migrate_test {
namespace {

program_result migrate(const std::string& url, const arguments& more = {},
                       const environment& variables = {}) {
  arguments all{"migrate"};
  all.insert(all.end(), more.begin(), more.end());
  auto with_url = variables;
  with_url["OUTBOXD_DATABASE_URL"] = url;
  return run_outboxd(all, with_url);
}

std::string postgres_program(const std::string& name) {
  return required_environment("OUTBOXD_TEST_PGBIN") + "/" + name;
}

// The schema as pg_dump prints it, and the record of migrations without its times.
std::string dump(const fresh_database& of) {
  const auto schema = run_program({.program = postgres_program("pg_dump"),
                                   .arguments = {"--schema-only", of.url()},
                                   .environment = {},
                                   .log_file = {}});
  REQUIRE_MESSAGE(schema.exited(0), schema.text());
  std::string text;
  for (const auto& line : schema.lines)
    if (line.find("restrict ") == std::string::npos) text += line + "\n";  // with a random word
  for (const auto& row : of.connect().exec("SELECT version, name FROM outbox.migration ORDER BY version"))
    text += fmt::format("\n{} {}", *row[0], *row[1]);
  return text;
}

std::int64_t schemas(database& session, const std::string& name = "outbox") {
  return session.number("SELECT count(*) FROM pg_namespace WHERE nspname = $1", {name});
}

}  // namespace

TEST_CASE("migrate run twice does nothing the second time") {
  const fresh_database target;
  const auto first = migrate(target.url());
  CHECK_MESSAGE(first.exited(0), first.text());
  CHECK_MESSAGE(first.says("now at version"), first.text());
  const auto before = dump(target);
  const auto second = migrate(target.url());
  CHECK_MESSAGE(second.exited(0), second.text());
  CHECK_MESSAGE(second.says("up to date"), second.text());
  const bool unchanged = dump(target) == before;  // too long for a message
  CHECK(unchanged);
}

TEST_CASE("migrate --check tells what is pending, and changes nothing") {
  const fresh_database target;
  auto session = target.connect();
  const auto all = migrate(target.url(), {"--check"});
  CHECK_MESSAGE(all.exited(1), all.text());
  CHECK_MESSAGE(all.says("has version 0; pending: 0012_outbox"), all.text());
  CHECK(schemas(session) == 0);
  REQUIRE(migrate(target.url()).exited(0));
  const auto none = migrate(target.url(), {"--check"});
  CHECK_MESSAGE(none.exited(0), none.text());
  CHECK_MESSAGE(none.says("is up to date"), none.text());
  const auto last = session.value(
      "DELETE FROM outbox.migration WHERE version = (SELECT max(version) FROM outbox.migration) RETURNING "
      "name");
  const auto one = migrate(target.url(), {"--check"});
  CHECK_MESSAGE(one.exited(1), one.text());
  CHECK_MESSAGE(one.says("pending: " + last), one.text());
  session.exec("INSERT INTO outbox.migration (version, name) VALUES (999, 'newer')");
  const auto newer = migrate(target.url(), {"--check"});
  CHECK_MESSAGE(newer.exited(1), newer.text());
  CHECK_MESSAGE(newer.says("by a newer outboxd"), newer.text());
  CHECK(migrate(target.url(), {"--check", "--print"}).exited(2));
}

TEST_CASE("without the doorbell it stays so until it is asked for, and the relay polls") {
  const stage on{{.migrated = false}};
  auto session = on.connect();
  const auto rings = [&] {
    const auto notified = session.number(
        "SELECT count(*) FROM pg_proc WHERE pronamespace = 'outbox'::regnamespace AND proname = 'ring'"
        " AND prosrc ~ 'IF true[[:space:]]'");
    CHECK(session.number("SELECT count(*) FROM outbox.shard WHERE rings") == notified);
    return notified;
  };
  for (const auto& [flags, expected] : {std::pair{arguments{"--no-notify"}, 0},
                                        {arguments{}, 0},
                                        {arguments{"--notify"}, 1},
                                        {arguments{}, 1},
                                        {arguments{"--notify"}, 1},
                                        {arguments{"--no-notify"}, 0}}) {
    const auto done = migrate(on.database_url(), flags);
    CHECK_MESSAGE(done.exited(0), done.text());
    CHECK(rings() == expected);
  }
  CHECK(migrate(on.database_url(), {"--no-notify", "--notify"}).exited(2));
  relay running{on};
  running.await_connected();
  for (int i = 0; i < 3; ++i) {
    on.add_events(1, 50);
    on.await_drained();
  }
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

TEST_CASE("the script without the doorbell makes an outbox whose writers do not ring") {
  const fresh_database target;
  const auto script = run_outboxd({"migrate", "--print", "--no-notify"});
  REQUIRE(script.exited(0));
  auto session = target.connect();
  session.exec(script.text());
  CHECK(session.number("SELECT count(*) FROM outbox.shard WHERE NOT rings") == 1);
  session.exec("LISTEN outbox; SELECT outbox.emit('order', '1', 'order.created', '{}')");
  session.exec("SELECT 1");
  CHECK(PQnotifies(session.handle()) == nullptr);
}

TEST_CASE("two migrations at once both succeed and apply everything once") {
  const fresh_database target;
  const process_options options{.program = outboxd_binary(),
                                .arguments = {"migrate"},
                                .environment = {{"OUTBOXD_DATABASE_URL", target.url()}},
                                .log_file = {}};
  process first{options};
  process second{options};
  CHECK_MESSAGE(first.wait(time_limit).code == 0, first.tail());
  CHECK_MESSAGE(second.wait(time_limit).code == 0, second.tail());
  const auto text =
      fmt::format("{} {}", fmt::join(first.all_lines(), " "), fmt::join(second.all_lines(), " "));
  CHECK_MESSAGE(text.find("now at version") != std::string::npos, text);
  CHECK_MESSAGE(text.find("up to date") != std::string::npos, text);
}

TEST_CASE("what --print prints makes the same schema when psql runs it") {
  for (const std::string payload : {"jsonb", "json", "text", "bytea"}) {
    const fresh_database migrated;
    const fresh_database printed;
    REQUIRE(migrate(migrated.url(), {"--payload", payload}).exited(0));
    const auto script = migrate(printed.url(), {"--payload", payload, "--print"});
    REQUIRE(script.exited(0));
    auto session = printed.connect();
    CHECK(schemas(session) == 0);  // printed, and nothing done
    const auto file = std::filesystem::temp_directory_path() / (printed.name() + ".sql");
    std::ofstream{file} << script.text() << '\n';
    const auto done =
        run_program({.program = postgres_program("psql"),
                     .arguments = {"-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", file.string(), printed.url()},
                     .environment = {},
                     .log_file = {}});
    std::filesystem::remove(file);
    REQUIRE_MESSAGE(done.exited(0), done.text());
    const bool same = dump(printed) == dump(migrated);
    CHECK(same);
    const auto again = migrate(printed.url());
    CHECK_MESSAGE(again.says("up to date"), again.text());
  }
}

TEST_CASE("a tool that takes the script's question marks for parameters makes nothing") {
  const fresh_database target;
  const auto script = run_outboxd({"migrate", "--print"});
  REQUIRE(script.exited(0));
  auto session = target.connect();
  CHECK_THROWS_WITH_AS(session.exec(std::regex_replace(script.text(), std::regex{R"(\?)"}, "$$1")),
                       doctest::Contains("has replaced its question marks"), std::runtime_error);
  CHECK(schemas(session) == 0);
}

TEST_CASE("every payload type migrates and a different one is refused afterwards") {
  for (const std::string payload : {"jsonb", "json", "text", "bytea"}) {
    const fresh_database target;
    REQUIRE(migrate(target.url(), {"--payload", payload}).exited(0));
    CHECK(target.connect().value("SELECT format_type(atttypid, NULL) FROM pg_attribute"
                                 " WHERE attrelid = 'outbox.event'::regclass AND attname = 'payload'") ==
          payload);
    CHECK(migrate(target.url(), {"--payload", payload}).exited(0));
    CHECK(migrate(target.url()).exited(0));  // and without it, what is there stays
    const auto other = migrate(target.url(), {"--payload", payload == "json" ? "jsonb" : "json"});
    CHECK(other.exited(1));
    CHECK(other.lines.size() == 1);
    CHECK_MESSAGE(other.says("is " + payload + " already"), other.text());
  }
}

TEST_CASE("a migration that is killed half-way leaves nothing and can be run again") {
  const fresh_database target;
  auto session = target.connect();
  // Holds the migration up in its middle, after the table exists.
  session.exec(
      "CREATE FUNCTION hold() RETURNS event_trigger LANGUAGE plpgsql AS"
      " 'BEGIN PERFORM pg_advisory_xact_lock(4711); END';"
      "CREATE EVENT TRIGGER hold ON ddl_command_end WHEN TAG IN ('CREATE FUNCTION') EXECUTE FUNCTION hold();"
      "SELECT pg_advisory_lock(4711)");
  {
    process victim{{.program = outboxd_binary(),
                    .arguments = {"migrate"},
                    .environment = {{"OUTBOXD_DATABASE_URL", target.url()}},
                    .log_file = {}}};
    eventually("the migration is held up", [&] {
      return session.number(
                 "SELECT count(*) FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database"
                 " WHERE NOT l.granted AND l.locktype = 'advisory' AND d.datname = current_database()") == 1;
    });
    victim.send(SIGKILL);
    victim.wait(time_limit);
  }
  session.exec("SELECT pg_advisory_unlock(4711); DROP EVENT TRIGGER hold");
  eventually("its session has ended", [&] {
    return session.number(
               "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
               " AND application_name = 'outboxd migrate'") == 0;
  });
  CHECK(schemas(session) == 0);
  CHECK(migrate(target.url()).exited(0));
  CHECK(schemas(session) == 1);
}

TEST_CASE("a schema from a newer outboxd is left alone") {
  const fresh_database target;
  REQUIRE(migrate(target.url()).exited(0));
  target.connect().exec("INSERT INTO outbox.migration (version, name) VALUES (9999, 'from the future')");
  const auto refused = migrate(target.url());
  CHECK(refused.exited(1));
  CHECK_MESSAGE(refused.says("newer outboxd"), refused.text());
}

TEST_CASE("migrate keeps to its own isolation level and time-out, whatever the settings of its user are") {
  const fresh_database target;
  auto session = target.connect();
  session.exec(
      "CREATE TABLE seen (settings text);"
      "CREATE FUNCTION look() RETURNS event_trigger LANGUAGE plpgsql AS"
      " $$ BEGIN INSERT INTO public.seen VALUES (current_setting('transaction_isolation') || ', '"
      " || current_setting('statement_timeout')); END $$;"
      "CREATE EVENT TRIGGER look ON ddl_command_end EXECUTE FUNCTION look()");
  const environment settings{{"PGOPTIONS",
                              "-c default_transaction_isolation=serializable -c statement_timeout=1h"
                              " -c default_transaction_read_only=on"}};
  for (const auto& flags : {arguments{}, arguments{"--partition", "daily"}}) {
    const auto done = migrate(target.url(), flags, settings);
    REQUIRE_MESSAGE(done.exited(0), done.text());
    CHECK(session.value("SELECT string_agg(DISTINCT settings, '; ') FROM seen") == "read committed, 0");
    session.exec("DELETE FROM seen");
  }
}

TEST_CASE("shards and doorbell change beside an open writer and a relay, and no writer waits for it") {
  const stage on;
  relay running{on};
  on.await_asleep();
  auto open = on.connect();
  auto other = on.connect();
  other.exec("SET statement_timeout = '30s'");
  for (const auto& [flag, words] : {std::pair{"--no-notify", "writers do not notify from now on"},
                                    {"--notify", "writers notify an idle leader from now on"},
                                    {"--shards=4", "4 shards instead of 1 "}}) {
    CAPTURE(flag);
    open.exec("BEGIN");
    open.exec("SELECT outbox.emit('order', 'open', $1, '{}')", {on.key()});
    const auto done = migrate(on.database_url(), {flag});
    CHECK_MESSAGE(done.exited(0), done.text());
    CHECK_MESSAGE(done.lines.back().find(words) != std::string::npos, done.text());
    const auto id = other.value("SELECT outbox.emit('order', 'other', $1, '{}')", {on.key()});
    eventually(
        "the event of the other writer is published",
        [&] {
          return other.value("SELECT status FROM outbox.event WHERE id = $1::uuid", {id}) == "published";
        },
        time_limit);
    open.exec("COMMIT");
  }
  const auto looks = fmt::format("strpos(pg_get_expr(adbin, adrelid), ', {})') > 0", store::sleep_key + 3);
  const auto looks_at_all = "SELECT " + looks +
                            " FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND "
                            "attnum = adnum WHERE attrelid = 'outbox.event'::regclass AND attname = 'tx'";
  CHECK(other.value(looks_at_all) == "f");
  CHECK(migrate(on.database_url()).exited(0));
  CHECK(other.value(looks_at_all) == "t");
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

TEST_CASE("what an earlier outboxd has left is taken away as soon as no relay is connected") {
  const stage on;
  auto session = on.connect();
  session.exec(
      "ALTER TABLE outbox.event ADD hash bigint NOT NULL, ALTER headers SET NOT NULL;"
      "CREATE FUNCTION outbox.admit_event() RETURNS trigger LANGUAGE plpgsql AS"
      " $$ BEGIN NEW.hash := 1; NEW.headers := coalesce(NEW.headers, '{}'); RETURN NEW; END $$;"
      "CREATE TRIGGER event_admit BEFORE INSERT ON outbox.event"
      " FOR EACH ROW EXECUTE FUNCTION outbox.admit_event();"
      "DROP TRIGGER event_keep_place ON outbox.event; CREATE TRIGGER event_keep_place AFTER UPDATE OF seq"
      " ON outbox.event FOR EACH ROW WHEN (NEW.hash <> OLD.hash) EXECUTE FUNCTION outbox.keep_place();"
      "ALTER TABLE outbox.event ENABLE ALWAYS TRIGGER event_keep_place; DROP INDEX outbox.event_held;"
      "CREATE INDEX event_held ON outbox.event (hash, exception, seq)"
      " WHERE exception IN ('backing_off', 'parked')");
  const auto insert = [&] {
    session.exec(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, headers)"
        " VALUES ('order', '1', $1, '{}', NULL)",
        {on.key()});
  };
  const auto is_left = [&] {
    return session.value("SELECT to_regprocedure('outbox.admit_event()') IS NOT NULL") == "t";
  };
  {
    relay running{on};
    running.await_connected();
    CHECK(migrate(on.database_url()).exited(0));
    CHECK(is_left());
    insert();
    on.await_published(1);
    running.stop();
  }
  const auto done = migrate(on.database_url());
  CHECK_MESSAGE(done.exited(0), done.text());
  CHECK_FALSE(is_left());
  CHECK(migrate(on.database_url(), {"--check"}).exited(0));
  insert();
  relay running{on};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 2);
  running.stop();
}

TEST_CASE(
    "a lock that migrate does not get within a second is tried again, in words, and holds no writer up") {
  for (const std::string& lock :
       {fmt::format("SELECT pg_advisory_xact_lock({}, 0)",
                    store::lock_class(*pg::schema_name::parse("outbox"))),
        std::string("LOCK TABLE outbox.shard IN SHARE MODE"),
        std::string("SELECT pg_advisory_xact_lock(hashtext('outboxd migrate'), hashtext('outbox'))")}) {
    CAPTURE(lock);
    const stage on;
    auto holder = on.connect();
    holder.exec("SET application_name = 'outboxd migrate'; BEGIN");
    holder.exec(lock);
    process running{{.program = outboxd_binary(),
                     .arguments = {"migrate", "--shards", "2"},
                     .environment = on.variables(),
                     .log_file = {}}};
    auto writer = on.connect();
    writer.exec("SET statement_timeout = '30s'");
    for (std::size_t said = 0; said < 2; ++said) {
      const auto line = running.wait_line("trying again", time_limit, said);
      CHECK_MESSAGE(line.find(fmt::format("pid {} ", holder.backend_pid())) != std::string::npos, line);
      writer.exec("SELECT outbox.emit('order', '1', $1, '{}')", {on.key()});
    }
    holder.exec("COMMIT");
    CHECK(running.wait(time_limit).code == 0);
    CHECK(running.all_lines().back() ==
          fmt::format("schema \"outbox\": 2 shards instead of 1 (version {})", store::schema_version));
  }
}

}  // namespace outboxd::test::migrate_test

// An outbox that came here by other ways than migrate: restored in part or without privileges, cleaned,
// renamed, copied. Nothing is lost and nothing is opened; check names what differs, and migrate mends it.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "clinic.hpp"
#include "login.hpp"
#include "stage.hpp"

namespace outboxd::test::restored_test {
namespace {

program_result migrate(const stage& on, const arguments& more = {}) {
  arguments words{"migrate"};
  words.insert(words.end(), more.begin(), more.end());
  return run_outboxd(words, on.variables());
}

// It names this, migrate mends it, and then there is nothing to name.
void mends(const stage& on, const std::string& words) {
  const auto looked = migrate(on, {"--check"});
  CHECK_MESSAGE(looked.exited(1), looked.text());
  CHECK_MESSAGE(looked.says(words), looked.text());
  const auto done = migrate(on);
  CHECK_MESSAGE(done.exited(0), done.text());
  CHECK_MESSAGE(done.says("mended: "), done.text());
  const auto again = migrate(on, {"--check"});
  CHECK_MESSAGE(again.exited(0), again.text());
}

void check_exact(const stage& on) {
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
}

program_result postgres_program(const std::string& name, const arguments& words) {
  return run_program({.program = required_environment("OUTBOXD_TEST_PGBIN") + "/" + name,
                      .arguments = words,
                      .environment = {},
                      .log_file = {}});
}

// What pg_dump with these flags gives of one database, in another one.
void restore(const stage& from, const stage& into, const arguments& flags) {
  arguments words{from.database_url()};
  words.insert(words.begin(), flags.begin(), flags.end());
  const auto dumped = postgres_program("pg_dump", words);
  REQUIRE_MESSAGE(dumped.exited(0), dumped.text());
  const auto file = std::filesystem::temp_directory_path() / (into.database_name() + ".sql");
  std::ofstream script{file};
  for (const auto& line : dumped.lines)
    // It may be newer than the server, which does not know this setting.
    if (line.find("transaction_timeout") == std::string::npos) script << line << '\n';
  script.close();
  const auto done = postgres_program(
      "psql", {"-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", file.string(), into.database_url()});
  std::filesystem::remove(file);
  REQUIRE_MESSAGE(done.exited(0), done.text());
}

std::string refusal(database& session, const std::string& sql) {
  try {
    session.exec(sql);
    return "done";
  } catch (const database_error& error) {
    return error.sqlstate;
  }
}

}  // namespace

TEST_CASE("a user with outbox_writer alone changes nothing, also where PUBLIC may execute every function") {
  const stage on;
  on.add_events(3);
  auto admin = on.connect();
  admin.exec(
      "UPDATE outbox.event SET status = 'dead', last_error = 'x' WHERE seq = 1;"
      "UPDATE outbox.event SET status = 'published' WHERE seq = 2;"
      "INSERT INTO outbox.processed_event VALUES ('c', gen_random_uuid(), now() - interval '1 year');"
      "SELECT outbox.pause('{e}');"
      "CREATE TABLE mine (LIKE outbox.event INCLUDING DEFAULTS);"
      "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA outbox TO PUBLIC");
  const auto state = [&] {
    return admin.value(
        "SELECT concat((SELECT string_agg(e::text, ';' ORDER BY e.seq) FROM outbox.event AS e),"
        " (SELECT string_agg(p::text, ';') FROM outbox.pause AS p), (SELECT count(*) FROM outbox.audit),"
        " (SELECT count(*) FROM outbox.processed_event), (SELECT count(*) FROM outbox.shard))");
  };
  const auto before = state();
  const login writer{"outbox_writer"};
  database session{writer.url(on)};
  const std::string all = "(SELECT array_agg(id) FROM outbox.event)";
  int tried = 0;
  for (const auto& row : admin.exec("SELECT proname FROM pg_proc WHERE pronamespace = 'outbox'::regnamespace"
                                    " AND prosecdef AND prorettype <> 'trigger'::regtype")) {
    const std::map<std::string, std::string> calls{
        {"audit_begin", "'retry', '--all'"},
        {"dead_retry", all},
        {"dead_discard", all},
        {"replay", all},
        {"pause", "'{}', everything => true"},
        {"resume", "'{}', everything => true"},
        {"prune_from", "now() + interval '1 day', 9, NULL, 0"},
        {"prune_published", "now() + interval '1 day', 9"},
        {"prune_processed", "now() + interval '1 day', 9"},
        {"forget_processed", "'-infinity', now() + interval '1 day', 9"},
        {"rotate_partition", ""},
        {"drop_partition", "0, pg_current_snapshot()"},
        {"mend_shards", ""},
        {"events_cancel", all},
        {"events_postpone", all + ", now() + interval '1 hour'"},
        {"events_edit", all + ", headers => '{}'"},
    };
    if (*row[0] == "next_seq") continue;  // only tells a number
    const auto call = calls.find(*row[0]);
    REQUIRE_MESSAGE(call != calls.end(),
                    "no call of a function that runs with its owner's rights: ", *row[0]);
    const auto sql = fmt::format("SELECT outbox.{}({})", call->first, call->second);
    CHECK_MESSAGE(refusal(session, sql) == "42501", sql);
    ++tried;
  }
  CHECK(tried == 16);
  // As triggers of a table of his own, whose rows name events of others.
  admin.exec("ALTER TABLE mine OWNER TO " + writer.name());
  for (const auto& [name, change] :
       {std::pair{"keep_place", "seq = 4711"}, {"agree_on_status", "status = 'published'"}}) {
    session.exec(fmt::format(
        "CREATE OR REPLACE TRIGGER mine AFTER UPDATE ON mine FOR EACH ROW EXECUTE FUNCTION outbox.{}()",
        name));
    session.exec(
        "DELETE FROM mine; INSERT INTO mine (id, seq, aggregate_type, aggregate_id, event_type, payload)"
        " SELECT id, seq, 'a', '1', 'e', '{}' FROM outbox.event");
    CHECK(refusal(session, fmt::format("UPDATE mine SET {}", change)) == "42501");
  }
  CHECK(state() == before);
  session.exec("DROP TABLE mine");
  // Those who may still do.
  const login user{"outbox_operator"};
  database operating{user.url(on)};
  CHECK(operating.number("SELECT outbox.resume('{}', everything => true)") == 1);
  // Also by SET ROLE, without inheriting its rights.
  admin.exec(fmt::format("ALTER ROLE {} NOINHERIT", user.name()));
  database acting{user.url(on)};
  acting.exec("SET ROLE outbox_operator");
  CHECK(acting.number("SELECT outbox.dead_retry(ARRAY[(SELECT id FROM outbox.event WHERE seq = 1)])") == 1);
}

TEST_CASE(
    "a relay makes rows of shards that are gone, says so, and publishes what was there and what comes") {
  for (const std::string gone : {"true", "shard = 2", "shard IN (1, 2)"}) {
    CAPTURE(gone);
    const stage on;
    REQUIRE(migrate(on, {"--shards", "4"}).exited(0));
    const login user{"outbox_relay"};
    const environment as_relay{{"OUTBOXD_DATABASE_URL", user.url(on)}};
    on.add_events(3, 20);
    on.connect().exec("DELETE FROM outbox.shard WHERE " + gone);
    relay running{on, {}, as_relay};
    const auto line = running.wait_line("had no row in the table shard", time_limit);
    CHECK_MESSAGE(line.find("warn") != std::string::npos, line);
    on.await_drained();
    on.add_events(3, 20);
    check_exact(on);
    CHECK(on.connect().number("SELECT count(*) FROM outbox.shard") == 4);
    running.stop();
  }
}

TEST_CASE(
    "rows of shards that are deleted beside a relay that leads are made again, and nothing goes out twice") {
  const stage on;
  relay running{on};
  on.add_events(5, 3);
  on.await_drained();
  on.connect().exec("TRUNCATE outbox.shard");
  running.wait_line("had no row in the table shard", time_limit);
  on.add_events(5, 3);
  on.await_drained();
  running.stop();
  relay next{on};
  on.add_events(5, 3);
  check_exact(on);
  next.stop();
}

TEST_CASE(
    "an outbox whose schema alone was restored is brought back by migrate, and run says so with status 2") {
  const stage source;
  REQUIRE(migrate(source, {"--shards", "2"}).exited(0));
  const stage on{{.migrated = false}};
  restore(source, on, {"--schema-only"});
  const auto refused = run_outboxd({"run"}, on.variables());
  CHECK_MESSAGE(refused.exited(2), refused.text());
  CHECK_MESSAGE(refused.says("`outboxd migrate` restores it"), refused.text());
  mends(on, "shard 0, 1 has no row");
  CHECK(on.connect().number("SELECT count(*) FROM outbox.migration") > 0);
  relay running{on};
  on.add_events(3, 5);
  check_exact(on);
  running.stop();
}

TEST_CASE("grants that a restore has left out are made again, and PUBLIC loses what it got") {
  const clinic at;
  REQUIRE(migrate(at.on).exited(0));
  const stage on{{.migrated = false}};
  at.on.add_events(2);
  restore(at.on, on, {"--no-owner", "--no-acl", "--exclude-table-data=outbox.shard"});
  CHECK(on.connect().number("SELECT count(*) FROM pg_proc WHERE pronamespace = 'outbox'::regnamespace"
                            " AND has_function_privilege('outbox_writer', oid, 'EXECUTE')") > 30);
  const auto before = run_outboxd({"check"}, on.variables());
  CHECK(before.exited(1));
  for (const char* const words :
       {"PUBLIC may EXECUTE",
        "outbox_writer lacks INSERT (id, aggregate_type, aggregate_id, event_type, payload,",
        "outbox_relay lacks DELETE, SELECT, UPDATE (status", "outbox_operator lacks EXECUTE on outbox.pause(",
        "shard 0 has no row"})
    CHECK_MESSAGE(before.says(words), before.text());
  mends(on, "outbox_relay lacks USAGE on outbox");
  CHECK(on.connect().value("SELECT string_agg(DISTINCT proname, ' ' ORDER BY proname) FROM pg_proc"
                           " WHERE pronamespace = 'outbox'::regnamespace"
                           " AND has_function_privilege('outbox_writer', oid, 'EXECUTE')") ==
        "can_become emit refuse ring");
  const environment as_relay{{"OUTBOXD_DATABASE_URL", at.user.url(on)},
                             {"OUTBOXD_AMQP_URL", required_environment("OUTBOXD_AMQP_URL")}};
  const auto after = run_outboxd({"check"}, as_relay);
  CHECK_MESSAGE(after.exited(0), after.text());
  relay running{on, {}, as_relay};
  on.await_drained();
  running.stop();
}

TEST_CASE(
    "after ALTER SCHEMA RENAME check names the functions that name the old one, and migrate mends them") {
  const stage on{{.schema = "before_it"}};
  on.connect().exec("ALTER SCHEMA before_it RENAME TO \"O'd \"\"d\"");
  auto variables = on.variables();
  variables["OUTBOXD_OUTBOX_SCHEMA"] = "O'd \"d";
  const auto named = run_outboxd({"check"}, variables);
  CHECK(named.exited(1));
  CHECK_MESSAGE(named.says("the function emit is not what migrate makes"), named.text());
  const auto done = run_outboxd({"migrate"}, variables);
  CHECK_MESSAGE(done.exited(0), done.text());
  const auto after = run_outboxd({"migrate", "--check"}, variables);
  CHECK_MESSAGE(after.exited(0), after.text());
  auto session = on.connect();
  const auto id = session.value("SELECT \"O'd \"\"d\".emit('order', '1', 'e', '{}')");
  session.exec(
      "UPDATE \"O'd \"\"d\".event SET status = 'dead'; UPDATE \"O'd \"\"d\".event SET status = 'pending'");
  CHECK(session.value("SELECT status FROM \"O'd \"\"d\".event WHERE id = $1::uuid", {id}) == "waiting");
}

TEST_CASE("a sequence behind the events is set behind them, so that new events follow earlier ones") {
  for (const bool partitioned : {false, true}) {
    CAPTURE(partitioned);
    const stage on;
    if (partitioned) REQUIRE(migrate(on, {"--partition", "daily"}).exited(0));
    on.add_events(20);
    auto session = on.connect();
    const auto last = session.number("SELECT max(seq) FROM outbox.event");
    session.exec(fmt::format("SELECT setval('outbox.event_seq', {})", last - 15));
    const clinic at;
    const auto named = run_outboxd({"check"}, on.variables());
    CHECK_MESSAGE(
        named.says(fmt::format("the sequence is at {}, and an event has the seq {}", last - 14, last)),
        named.text());
    mends(on, "the sequence is at");
    on.add_events(1);
    CHECK(session.number("SELECT max(seq) FROM outbox.event") == last + 1);
    relay running{on};
    check_exact(on);
    running.stop();
  }
}

TEST_CASE("what migrate cannot mend it names, mends the rest and exits 1") {
  const stage on;
  on.connect().exec(
      "ALTER TABLE outbox.event ALTER last_error TYPE varchar(100); DROP INDEX outbox.event_due");
  const auto done = migrate(on);
  CHECK_MESSAGE(done.exited(1), done.text());
  CHECK_MESSAGE(
      done.says("the column last_error of event has the type character varying instead of text; migrate "
                "does not change it"),
      done.text());
  CHECK(on.connect().value("SELECT to_regclass('outbox.event_due')") == "outbox.event_due");
  on.connect().exec("ALTER TABLE outbox.event ALTER last_error TYPE text");
  CHECK(migrate(on).exited(0));
}

TEST_CASE("what says where an event is is not made again by a guess") {
  for (const std::string column : {"tx", "exception", "status"}) {
    CAPTURE(column);
    const stage on;
    on.connect().exec(fmt::format("ALTER TABLE outbox.event DROP COLUMN {} CASCADE", column));
    const auto done = migrate(on);
    CHECK_MESSAGE(done.exited(1), done.text());
    CHECK_MESSAGE((done.says(column) && done.says("does not exist")), done.text());
    CHECK(on.connect().number(fmt::format("SELECT count(*) FROM pg_attribute WHERE attrelid ="
                                          " 'outbox.event'::regclass AND attname = '{}'",
                                          column)) == 0);
  }
}

TEST_CASE("a relay goes on beside functions that are refused") {
  const stage on;
  on.connect().exec("DROP FUNCTION outbox.require_role CASCADE");
  relay running{on};
  on.add_events(3, 4);
  check_exact(on);
  CHECK(running.count_lines("connected to PostgreSQL") == 1);
  running.stop();
}

TEST_CASE("tables of an application in the same schema are not taken for an outbox") {
  const stage on{{.migrated = false}};
  auto session = on.connect();
  session.exec(
      "CREATE TABLE public.event (id int, payload text); CREATE TABLE public.audit (id int);"
      "CREATE FUNCTION public.pause(n int) RETURNS int LANGUAGE sql AS 'SELECT n'");
  const auto refused = migrate(on, {"--schema", "public"});
  CHECK_MESSAGE(refused.exited(1), refused.text());
  CHECK_MESSAGE(refused.says("relation \"event\" already exists"), refused.text());
  session.exec("DROP TABLE public.event, public.audit");
  CHECK(migrate(on, {"--schema", "public"}).exited(0));
  CHECK(session.value("SELECT has_function_privilege('public', 'public.pause(int)', 'EXECUTE')") == "t");
}

}  // namespace outboxd::test::restored_test

// Nobody's operators, functions, types or views are called in the place of PostgreSQL's own, whatever the
// search_path is.
#include <doctest/doctest.h>

#include "login.hpp"
#include "stage.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::test::search_path_test {
namespace {

/// The text of everything that the relay prepares.
std::string relay_sql() {
  std::string out;
  for (const auto& one : store::statement_texts()) out += std::string(one.sql) + "\n";
  return out;
}

// {} is the schema. Everything calls this in the end; a sequence remembers it whatever is rolled back.
constexpr auto alarm =
    "CREATE SCHEMA IF NOT EXISTS {0}; GRANT USAGE ON SCHEMA {0} TO PUBLIC; CREATE SEQUENCE {0}.calls;"
    "CREATE FUNCTION {0}.hostile(what text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER"
    " SET search_path = pg_catalog AS $$ BEGIN PERFORM nextval('{0}.calls');"
    " RAISE EXCEPTION 'hostile % is called', what; END $$;";

// For each function of PostgreSQL that is named somewhere in our SQL ($1 of words): one of the same name and
// arguments. Where they are polymorphic, one for each type that we use, which fits better than PostgreSQL's
// own.
constexpr auto functions =
    "DO $do$ DECLARE f record; concrete text; BEGIN"
    " FOR f IN SELECT DISTINCT p.proname, oidvectortypes(p.proargtypes) AS args, p.proretset,"
    "   format_type(p.prorettype, NULL) AS ret FROM pg_proc AS p JOIN {0}.words AS w ON w.word = p.proname"
    "   WHERE p.pronamespace = 'pg_catalog'::regnamespace LOOP"
    "  FOREACH concrete IN ARRAY CASE WHEN f.args ~ 'any' THEN {0}.concretes() ELSE ARRAY[''] END LOOP"
    "   BEGIN EXECUTE format('CREATE FUNCTION {0}.%I(%s) RETURNS %s %s LANGUAGE plpgsql AS %L', f.proname,"
    "     {0}.made_concrete(f.args, concrete), CASE WHEN f.proretset THEN 'SETOF' END,"
    "     {0}.made_concrete(f.ret, concrete),"
    "     format('BEGIN PERFORM {0}.hostile(%L::pg_catalog.text); END', f.proname || '(' || f.args || ')'));"
    "   EXCEPTION WHEN OTHERS THEN NULL; END;"  // PostgreSQL allows no such function
    "  END LOOP; END LOOP; END $do$;";

constexpr auto types_of_ours =
    "CREATE FUNCTION {0}.concretes() RETURNS text[] LANGUAGE sql AS $$ SELECT ARRAY['text', 'bigint', "
    "'integer',"
    " 'uuid', 'tid', 'xid8', 'xid', 'oid', 'name', 'boolean', 'jsonb', 'timestamptz', 'outbox.event_status',"
    " 'outbox.event_exception'] $$;"
    "CREATE FUNCTION {0}.made_concrete(types text, concrete text) RETURNS text LANGUAGE sql AS $$"
    " SELECT CASE WHEN concrete = '' THEN types ELSE regexp_replace(regexp_replace(types,"
    "  'any(compatible)?array', concrete || '[]', 'g'), '\"?any[a-z]*\"?', concrete, 'g') END $$;"
    "CREATE TABLE {0}.words AS SELECT DISTINCT m[1] AS word FROM"
    " (SELECT $sql$ {1} $sql$ UNION ALL SELECT prosrc FROM pg_proc"
    "   WHERE pronamespace = to_regnamespace('outbox')) AS t(sql),"
    " LATERAL regexp_matches(t.sql, '[a-z_][a-z0-9_]*', 'g') AS m;";

// The same for operators.
constexpr auto operators =
    "DO $do$ DECLARE o record; concrete text; n integer := 0; BEGIN"
    " FOR o IN SELECT DISTINCT p.oprname, format_type(p.oprleft, NULL) AS l, format_type(p.oprright, NULL) "
    "AS r,"
    "   format_type(p.oprresult, NULL) AS ret FROM pg_operator AS p WHERE p.oprleft <> 0"
    "   AND p.oprname IN ('=', '<>', '<', '<=', '>', '>=', '&', '-', '+', '*', '/', '||', '~')"
    "   AND (format_type(p.oprleft, NULL) ~ '^any' OR {0}.concretes() || ARRAY['timestamp with time zone',"
    "     'interval', 'smallint', 'double precision'] @> ARRAY[format_type(p.oprleft, NULL)]) LOOP"
    "  FOREACH concrete IN ARRAY CASE WHEN o.l || o.r ~ 'any' THEN {0}.concretes() ELSE ARRAY[''] END LOOP"
    "   n := n + 1;"
    "   BEGIN EXECUTE format('CREATE FUNCTION {0}.operator_%s(%s, %s) RETURNS %s LANGUAGE plpgsql AS %L;"
    " CREATE OPERATOR {0}.%s (FUNCTION = {0}.operator_%s, LEFTARG = %s, RIGHTARG = %s)', n,"
    "     {0}.made_concrete(o.l, concrete), {0}.made_concrete(o.r, concrete), {0}.made_concrete(o.ret, "
    "concrete),"
    "     format('BEGIN PERFORM {0}.hostile(%L::pg_catalog.text); END', o.l || ' ' || o.oprname || ' ' || "
    "o.r),"
    "     o.oprname, n, {0}.made_concrete(o.l, concrete), {0}.made_concrete(o.r, concrete));"
    "   EXCEPTION WHEN OTHERS THEN NULL; END;"
    "  END LOOP; END LOOP; END $do$;";

// Types and relations.
constexpr auto names =
    "DO $do$ DECLARE one text; BEGIN"
    " FOREACH one IN ARRAY ARRAY['text', 'uuid', 'jsonb', 'json', 'timestamptz', 'tid', 'xid8', 'bytea', "
    "'int8', 'name',"
    "   'regclass', 'oid'] LOOP"
    "  EXECUTE format('CREATE DOMAIN {0}.%I AS pg_catalog.%I CHECK ({0}.hostile(%L::pg_catalog.text))', one, "
    "one,"
    "    'type ' || one); END LOOP;"
    " FOREACH one IN ARRAY ARRAY['event', 'shard', 'migration', 'processed_event', 'pg_locks', "
    "'pg_stat_activity',"
    "   'pg_class', 'pg_namespace', 'pg_trigger', 'pg_attribute', 'pg_database', 'pg_settings', 'pg_proc'] "
    "LOOP"
    "  EXECUTE format('CREATE VIEW {0}.%I AS SELECT {0}.hostile(%L::pg_catalog.text)', one, 'view ' || one);"
    "  EXECUTE format('GRANT SELECT ON {0}.%I TO PUBLIC', one); END LOOP;"
    " END $do$;";

/// A schema full of names that PostgreSQL has as well, and what they would do if they were called.
class trap {
 public:
  trap(const stage& on, std::string schema) : on_{on}, schema_{std::move(schema)} {
    auto session = on.connect();
    const auto fill = [&](const char* sql) {
      session.exec("SET search_path = pg_catalog; " + fmt::format(fmt::runtime(sql), schema_, relay_sql()));
    };
    // The tests' own sessions call nothing of it; but for those that say so.
    session.exec(fmt::format("ALTER ROLE CURRENT_USER IN DATABASE {} SET search_path = pg_catalog",
                             on.database_name()));
    for (const char* sql : {alarm, types_of_ours, functions, operators, names}) fill(sql);
    planted_ = session.number(
        fmt::format("SELECT count(*) FROM pg_proc WHERE pronamespace = '{0}'::regnamespace", schema_));
  }

  std::int64_t planted() const { return planted_; }
  /// The path of a victim.
  std::string path() const { return schema_ == "public" ? "public" : schema_ + ", public, pg_catalog"; }
  void lead_into(const login& user) const {
    on_.connect().exec(fmt::format("ALTER ROLE {} IN DATABASE {} SET search_path = {}", user.name(),
                                   on_.database_name(), path()));
  }
  /// A session of the owner of the outbox.
  database owner() const {
    auto session = on_.connect();
    session.exec(fmt::format("SET search_path = {}", path()));
    return session;
  }
  environment owner_variables() const {
    auto out = on_.variables();
    out["PGOPTIONS"] =
        fmt::format("-csearch_path={}", schema_ == "public" ? "public" : schema_ + ",public,pg_catalog");
    return out;
  }
  bool called() const {
    return on_.connect().value(fmt::format("SELECT is_called FROM {}.calls", schema_)) == "t";
  }

 private:
  const stage& on_;
  std::string schema_;
  std::int64_t planted_ = 0;
};

void write_events(const stage& on, database session) {
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload) VALUES ('order', '1', "
      "$1, '{}')",
      {on.key()});
  session.exec(
      "SELECT outbox.emit('order', '2', $1, '{}', available_at => pg_catalog.clock_timestamp()"
      " OPERATOR(pg_catalog.+) '300 ms'::interval)",
      {on.key("scheduled")});
  session.exec("SELECT outbox.emit('order', '3', 'returned', '{}')");
  session.exec("SELECT outbox.emit('order', '3', $1, '{}')", {on.key()});
  for (const char* bad : {"'', '1', 'e', '{}'", "'order', '', 'e', '{}'", "'order', '1', '', '{}'",
                          "'order', '1', 'e', '{}', '[]'"})
    CHECK_THROWS_WITH_AS(session.exec(fmt::format("SELECT outbox.emit({})", bad)), doctest::Contains("event"),
                         database_error);
}

void change_by_hand(database session) {
  for (const char* change :
       {"status = 'dead'", "status = 'pending'", "status = 'published'", "exception = 'parked'", "seq = 99",
        "status = 'waiting', exception = NULL", "headers = '{}'"})
    session.exec(
        fmt::format("UPDATE outbox.event SET {} WHERE aggregate_id OPERATOR(pg_catalog.=) '1'", change));
  CHECK_THROWS_WITH_AS(
      session.exec(
          "UPDATE outbox.event SET aggregate_id = '5' WHERE aggregate_id OPERATOR(pg_catalog.=) '1'"),
      doctest::Contains("cannot be changed"), database_error);
  CHECK_THROWS_WITH_AS(
      session.exec("INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, headers)"
                   " VALUES ('order', '1', 'e', '{}', '[]')"),
      doctest::Contains("of type array"), database_error);
  for (const char* status : {"dead", "waiting", "published"})
    session.exec(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status)"
        " VALUES ('order', '7', 'e', '{}', $1)",
        {status});
  for (const char* again : {"t", "f"})
    CHECK(session.value("SELECT outbox.first_time('c', '10000000-0000-0000-0000-000000000000')") == again);
}

void operate(database session) {
  const std::string id = "ARRAY['10000000-0000-0000-0000-000000000000']::pg_catalog.uuid[]";
  for (const char* function : {"dead_retry", "dead_discard", "replay"})
    session.exec(fmt::format("SELECT outbox.{}({})", function, id));
  for (const char* function : {"prune_published", "prune_processed"})
    session.exec(fmt::format("SELECT outbox.{}(pg_catalog.clock_timestamp(), 10)", function));
}

void run_commands(const environment& variables) {
  for (const arguments& words :
       {arguments{"dead", "list", "--since", "1h"}, arguments{"dead", "list", "--json"},
        arguments{"dead", "retry", "--aggregate", "order/3"},
        arguments{"dead", "discard", "--all", "--dry-run"},
        arguments{"replay", "--event-type", "e", "--until", "1h"},
        arguments{"prune", "--older-than", "1s"}}) {
    const auto done = run_outboxd(words, variables);
    CHECK_MESSAGE(done.exited(0), done.text());
  }
}

}  // namespace

TEST_CASE("no hostile function, operator, type or view is called, by whomever and whatever the search_path") {
  for (const std::string schema : {"public", "evil"}) {
    CAPTURE(schema);
    const stage on;
    const login writer{"outbox_writer"};
    const login operates{"outbox_operator"};
    const login relays{"outbox_relay"};
    const trap set{on, schema};
    CHECK(set.planted() > 500);
    for (const login* one : {&writer, &operates, &relays}) set.lead_into(*one);

    write_events(on, database{writer.url(on)});
    {
      relay running{on, {"--retry-give-up-after", "1s"}, {{"OUTBOXD_DATABASE_URL", relays.url(on)}}};
      on.await_drained();
      on.await_asleep();
      write_events(on, database{writer.url(on)});
      on.await_drained();
      change_by_hand(set.owner());
      operate(database{operates.url(on)});
      on.connect().exec("UPDATE outbox.event SET available_at = now() WHERE status = 'waiting'");
      on.await_drained();
      run_commands({{"OUTBOXD_DATABASE_URL", operates.url(on)}});
      running.stop();
      for (const auto& line : running.lines()) CHECK_MESSAGE(line.find("hostile") == std::string::npos, line);
    }
    for (const char* change : {"--no-notify", "--notify", "--shards=2"}) {
      const auto done = run_outboxd({"migrate", change}, set.owner_variables());
      CHECK_MESSAGE(done.exited(0), done.text());
    }
    write_events(on, database{writer.url(on)});
    CHECK_FALSE(set.called());
  }
}

TEST_CASE("an outbox that is made in the middle of hostile names takes none of them") {
  for (const std::string schema : {"public", "evil"}) {
    CAPTURE(schema);
    const stage on{{.migrated = false}};
    const trap set{on, schema};
    const auto done = run_outboxd({"migrate"}, set.owner_variables());
    CHECK_MESSAGE(done.exited(0), done.text());
    auto session = on.connect();
    CHECK(session.number("SELECT count(*) FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid"
                         " WHERE a.attrelid = 'outbox.event'::regclass AND t.typtype = 'd'") == 0);
    write_events(on, set.owner());
    CHECK_FALSE(set.called());
  }
}

TEST_CASE("the trap catches who steps into it, and nobody can make a cast between types that are not his") {
  const stage on;
  const trap set{on, "evil"};
  const login user{"outbox_writer"};
  on.connect().exec(fmt::format("GRANT CREATE ON SCHEMA evil TO {}", user.name()));
  database session{user.url(on)};
  try {
    session.exec(
        "CREATE FUNCTION evil.cast_status(outbox.event_status) RETURNS text LANGUAGE sql AS 'SELECT NULL'");
    session.exec(
        "CREATE CAST (outbox.event_status AS text) WITH FUNCTION evil.cast_status(outbox.event_status)");
    FAIL("the cast is made");
  } catch (const database_error& refused) {
    CHECK(refused.sqlstate == "42501");
  }
  session.exec("DROP FUNCTION IF EXISTS evil.cast_status(outbox.event_status)");
  on.connect().exec(fmt::format("REVOKE ALL ON SCHEMA evil FROM {}", user.name()));
  auto victim = set.owner();
  for (const char* sql : {"SELECT 'a' = 'b'", "SELECT cardinality('{1}'::bigint[])", "SELECT 'x'::text",
                          "SELECT 'dead'::outbox.event_status <> 'pending'", "SELECT pid FROM pg_locks"})
    CHECK_THROWS_AS(victim.exec(sql), database_error);
  CHECK(set.called());
}

}  // namespace outboxd::test::search_path_test

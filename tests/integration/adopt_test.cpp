// adopt: what is inserted into a table of the user's own goes out, however it is inserted.
#include <doctest/doctest.h>

#include "adopted.hpp"
#include "login.hpp"

namespace outboxd::test::adopt_test {
namespace {

void copy_rows(database& session, const std::string& lines) {
  PQclear(PQexec(session.handle(),
                 "COPY public.outboxevent (aggregatetype, aggregateid, type, payload) FROM STDIN"));
  CHECK(PQputCopyData(session.handle(), lines.data(), static_cast<int>(lines.size())) == 1);
  CHECK(PQputCopyEnd(session.handle(), nullptr) == 1);
  auto* const answer = PQgetResult(session.handle());
  CHECK_MESSAGE(PQresultStatus(answer) == PGRES_COMMAND_OK, PQresultErrorMessage(answer));
  PQclear(answer);
  CHECK(PQgetResult(session.handle()) == nullptr);
}

std::string sqlstate_of(database& session, const std::string& sql) {
  try {
    session.exec(sql);
    return "";
  } catch (const database_error& refused) {
    return refused.sqlstate;
  }
}

std::int64_t events(database& session) {
  return session.number("SELECT count(*) FROM outbox.event");
}
std::int64_t rows(database& session) {
  return session.number("SELECT count(*) FROM public.outboxevent");
}

}  // namespace

TEST_CASE("adopt: single rows, many rows, COPY, and rows that are deleted at once all go out") {
  const stage on;
  auto session = on.connect();
  session.exec(debezium_table);
  adopt(on, adopt_debezium);
  relay running{on};
  const auto id = session.value(
      "INSERT INTO outboxevent (aggregatetype, aggregateid, type, payload) VALUES ('order', 'a0', $1, "
      "'{\"n\": 1}') "
      "RETURNING id",
      {on.key()});
  insert_rows(session, on, 1000, 10, 2);
  copy_rows(session, fmt::format("order\tc\t{0}\t{{\"n\": 1}}\norder\tc\t{0}\t{{\"n\": 2}}\n", on.key()));
  session.exec(
      fmt::format("BEGIN;"
                  " INSERT INTO outboxevent (aggregatetype, aggregateid, type, payload)"
                  " VALUES ('order', 'd', '{0}', '{{\"n\": 1}}'), ('order', 'd', '{0}', '{{\"n\": 2}}');"
                  " DELETE FROM outboxevent WHERE aggregateid = 'd'; COMMIT",
                  on.key()));
  session.exec("BEGIN");
  insert_rows(session, on, 5);
  session.exec("ROLLBACK");
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 1005);
  CHECK(session.value("SELECT aggregate_type || aggregate_id || event_type FROM outbox.event WHERE id = $1",
                      {id}) == "ordera0" + on.key());
  CHECK(
      session.number(
          "SELECT count(*) FROM (SELECT (payload ->> 'n')::int AS n, lag((payload ->> 'n')::int) OVER"
          " (PARTITION BY aggregate_id ORDER BY seq) AS before FROM outbox.event) AS e WHERE n <= before") ==
      0);
  CHECK(rows(session) == 0);
  running.stop();
}

TEST_CASE("adopt: until it commits, whoever inserts a row sees and changes it as ever") {
  const stage on;
  auto session = on.connect();
  session.exec(debezium_table);
  adopt(on, adopt_debezium);
  const std::string insert =
      "INSERT INTO outboxevent (aggregatetype, aggregateid, type, payload) VALUES ('order', '1', 'e', '{}')";
  const auto affected = [&](const std::string& sql) {
    auto* const answer = PQexec(session.handle(), sql.c_str());
    const std::string out = PQcmdTuples(answer);
    PQclear(answer);
    return out;
  };
  session.exec("BEGIN");
  const auto id = session.value(insert + " RETURNING id");
  CHECK(affected(insert + ", ('order', '2', 'e', '{}')") == "2");
  CHECK(session.number("SELECT count(*) FROM outboxevent WHERE id = $1", {id}) == 1);  // refreshed
  CHECK(affected("UPDATE outboxevent SET tenant = 'a' WHERE id = '" + id + "'") == "1");
  CHECK(affected("DELETE FROM outboxevent WHERE id = '" + id + "'") == "1");  // persist and remove
  CHECK(rows(session) == 2);
  session.exec("COMMIT");
  CHECK(rows(session) == 0);
  CHECK(events(session) == 3);
}

TEST_CASE("adopt --keep leaves the rows where they are, and needs no primary key") {
  const stage on;
  auto session = on.connect();
  session.exec(
      "CREATE TABLE public.outboxevent (aggregatetype text, aggregateid int, type text, payload text, extra "
      "int)");
  const arguments mapped{"adopt",
                         "--table",
                         "public.outboxevent",
                         "--map",
                         "aggregate_type=aggregatetype",
                         "--map",
                         "aggregate_id=aggregateid",
                         "--map",
                         "event_type=type",
                         "--map",
                         "payload=payload",
                         "--null-payload",
                         "refuse",
                         "--unfit",
                         "refuse"};
  const auto refused = run_outboxd(mapped, on.variables());
  CHECK(refused.exited(1));
  CHECK(refused.says("has no primary key"));
  adopt(on, adopt_debezium + arguments{"--map", "id=", "--keep"});
  session.exec("INSERT INTO outboxevent SELECT 'order', n, 'e', '{}' FROM generate_series(1, 3) AS n");
  CHECK(rows(session) == 3);
  CHECK(events(session) == 3);
}

TEST_CASE("adopt: columns become headers with their types, and a condition decides") {
  const stage on;
  auto session = on.connect();
  session.exec(
      "CREATE TABLE mine (key bigserial PRIMARY KEY, what text NOT NULL, about int NOT NULL, body json,"
      " h jsonb, tenant text, urgent boolean NOT NULL, \"when\" timestamptz, ex text, rk text)");
  adopt(on, {"adopt",
             "--table",
             "mine",
             "--map",
             "event_type=what",
             "--map",
             "aggregate_id=about",
             "--map",
             "aggregate_type='order'",
             "--map",
             "payload=body",
             "--null-payload",
             "skip",
             "--map",
             "headers=h",
             "--map",
             "available_at=when",
             "--map",
             "exchange=ex",
             "--map",
             "routing_key=rk",
             "--header",
             "tenant=tenant",
             "--header",
             "urgent=urgent",
             "--header",
             "it's \"odd\"=about",
             "--where",
             "NEW.what <> 'internal' -- not these"});
  session.exec(
      "INSERT INTO mine (what, about, body, h, tenant, urgent, \"when\", ex, rk) VALUES"
      " ('a', 1, '{\"b\":2,\"a\":1}', '{\"x\": [1], \"tenant\": \"old\"}', 'acme', true, now() + interval '1 "
      "d', 'e', 'k'),"
      " ('b', 2, '[]', NULL, NULL, false, NULL, NULL, NULL), ('internal', 3, NULL, NULL, NULL, false, NULL, "
      "NULL, NULL)");
  CHECK(session.value("SELECT headers FROM outbox.event WHERE event_type = 'a' AND available_at > now() AND "
                      "exchange = 'e'"
                      " AND routing_key = 'k' AND aggregate_id = '1' AND aggregate_type = 'order'") ==
        "{\"x\": [1], \"tenant\": \"acme\", \"urgent\": true, \"it's \\\"odd\\\"\": 1}");
  CHECK(session.value("SELECT headers FROM outbox.event WHERE event_type = 'b' AND status = 'pending' AND "
                      "exchange IS NULL") == "{\"urgent\": false, \"it's \\\"odd\\\"\": 2}");
  CHECK(events(session) == 2);
  CHECK(session.value("SELECT string_agg(what, ',') FROM mine") == "internal");  // not copied, so not removed
}

TEST_CASE(
    "adopt: a row that cannot be an event is refused as the outbox refuses it, and so is its transaction") {
  const stage on;
  auto session = on.connect();
  session.exec(
      "CREATE TABLE public.outboxevent (id text PRIMARY KEY, aggregatetype text, aggregateid text, type text,"
      " payload text)");
  adopt(on, adopt_debezium);
  const std::string id = "'00000000-0000-4000-8000-000000000001'";
  for (const auto& [values, state] :
       std::vector<std::pair<std::string, std::string>>{{id + ", NULL, '1', 'e', '{}'", "23502"},
                                                        {id + ", 'order', NULL, 'e', '{}'", "23502"},
                                                        {id + ", 'order', '1', NULL, '{}'", "23502"},
                                                        {id + ", 'order', '1', 'e', NULL", "23502"},
                                                        {id + ", 'order', '', 'e', '{}'", "23514"},
                                                        {id + ", 'order', '1', 'e', 'no json'", "22P02"},
                                                        {"'no uuid', 'order', '1', 'e', '{}'", "22P02"}})
    CHECK_MESSAGE(sqlstate_of(session, "INSERT INTO outboxevent VALUES (" + values + ")") == state, values);
  CHECK(rows(session) == 0);
  CHECK(events(session) == 0);
  session.exec("INSERT INTO outboxevent VALUES (" + id + ", 'order', '1', 'e', '{}')");
  CHECK(sqlstate_of(session, "INSERT INTO outboxevent VALUES (" + id + ", 'order', '1', 'e', '{}')") ==
        "23505");
}

TEST_CASE(
    "adopt: a partitioned table, rows that go right into a partition, later partitions, and rows that move") {
  const stage on;
  auto session = on.connect();
  session.exec(
      "CREATE TABLE public.outboxevent (id uuid DEFAULT gen_random_uuid(), part int NOT NULL DEFAULT 1,"
      " aggregatetype text, aggregateid text, type text, payload jsonb, PRIMARY KEY (id, part))"
      " PARTITION BY LIST (part);"
      "CREATE TABLE one PARTITION OF outboxevent FOR VALUES IN (1)");
  const auto add = [&](const std::string& into, int part) {
    session.exec(
        fmt::format("INSERT INTO {} (part, aggregatetype, aggregateid, type, payload)"
                    " SELECT {}, 'order', n, '{}', '{{}}' FROM generate_series(1, 10) AS n",
                    into, part, on.key()));
  };
  add("outboxevent", 1);
  for (const std::string mode : {"", "--keep"}) {
    CAPTURE(mode);
    const auto left = rows(session);
    adopt(on, mode.empty() ? adopt_debezium : adopt_debezium + arguments{mode});
    session.exec("CREATE TABLE two PARTITION OF outboxevent FOR VALUES IN (2)");
    const auto before = events(session);
    add("outboxevent", 1);
    add("one", 1);
    add("outboxevent", 2);
    add("two", 2);
    CHECK(events(session) == before + 40);
    CHECK(rows(session) == left + (mode.empty() ? 0 : 40));
    session.exec(
        "UPDATE outboxevent SET part = 2 WHERE part = 1");  // not inserted, though PostgreSQL says so
    CHECK(events(session) == before + 40);
    add("outboxevent", 1);
    CHECK(events(session) == before + 50);
    CHECK(rows(session) == left + (mode.empty() ? 0 : 50));
    const auto partition = run_outboxd(adopt_debezium + arguments{"--table", "one"}, on.variables());
    CHECK(partition.exited(1));
    CHECK(partition.says("is a partition of public.outboxevent"));
    session.exec("DROP TABLE two");
  }
  adopt(on, {"adopt", "--table", "outboxevent", "--remove"});
  adopt(on, adopt_debezium + arguments{"--table", "one"});
  const auto before = events(session);
  add("outboxevent", 1);
  CHECK(events(session) == before + 10);
}

TEST_CASE(
    "adopt: a producer without any right on the outbox, an owner who may only write there, and hostile "
    "names") {
  { const stage first; }  // makes the role
  const login owner{"outbox_writer"};
  const login producer{""};
  const stage on;
  auto admin = on.connect();
  const std::string table = "odd \"$outboxd$' -- \\";
  const std::string quoted = "\"odd \"\"$outboxd$' -- \\\"";
  admin.exec(fmt::format("CREATE SCHEMA shop AUTHORIZATION {0}; GRANT USAGE ON SCHEMA shop TO {1}",
                         owner.name(), producer.name()));
  database own{owner.url(on)};
  own.exec(
      fmt::format("CREATE TABLE shop.{0} (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), \"$outboxd$\" text,"
                  " \"a'b\"\"c\" text, type text, payload jsonb); GRANT INSERT ON shop.{0} TO {1}",
                  quoted, producer.name()));
  auto as_owner = on.variables();
  as_owner["OUTBOXD_DATABASE_URL"] = owner.url(on);
  const arguments words{"adopt",
                        "--table",
                        "shop." + quoted,
                        "--preset",
                        "debezium",
                        "--map",
                        "aggregate_type=$outboxd$",
                        "--map",
                        "aggregate_id=a'b\"c",
                        "--null-payload",
                        "refuse",
                        "--unfit",
                        "skip"};
  const auto done = run_outboxd(words, as_owner);
  CHECK_MESSAGE(done.exited(0), done.text());
  database writer{producer.url(on)};
  // What would be run if a name of the triggers were looked up along this path.
  writer.exec("SET search_path = pg_temp; CREATE TEMP TABLE event (id int)");
  writer.exec(fmt::format(
      "INSERT INTO shop.{} (\"$outboxd$\", \"a'b\"\"c\", type, payload) VALUES ('order', '1', 'e', '{{}}')",
      quoted));
  CHECK(sqlstate_of(writer, "SELECT id FROM outbox.event") == "42501");
  CHECK(events(admin) == 1);
  CHECK(admin.number(fmt::format("SELECT count(*) FROM shop.{}", quoted)) == 0);
  // The function is the owner's, and nobody else can make a trigger of it.
  const auto function = admin.value("SELECT tgfoid::regproc FROM pg_trigger WHERE tgname = 'outboxd_copy'");
  writer.exec("CREATE TEMP TABLE trap (id uuid)");
  const auto trap = fmt::format(
      "CREATE TRIGGER t AFTER INSERT ON trap REFERENCING NEW TABLE AS outboxd_rows"
      " FOR EACH STATEMENT EXECUTE FUNCTION {}()",
      function);
  CHECK(sqlstate_of(writer, trap) == "42501");
  // A restore without privileges lets everybody make one: it fires for no other table.
  admin.exec(fmt::format("GRANT EXECUTE ON FUNCTION {}() TO PUBLIC", function));
  writer.exec(trap);
  CHECK(sqlstate_of(writer, "INSERT INTO trap VALUES (gen_random_uuid())") == "42501");
  writer.exec("DROP TABLE trap");
  CHECK(admin.value("SELECT DISTINCT proowner::regrole FROM pg_proc WHERE proname LIKE 'outboxd\\_%'") ==
        owner.name());
  // An administrator's rights stay out of it, too.
  CHECK(run_outboxd(words, on.variables()).exited(0));
  CHECK(admin.value("SELECT DISTINCT proowner::regrole FROM pg_proc WHERE proname LIKE 'outboxd\\_%'") ==
        owner.name());
  auto as_producer = on.variables();
  as_producer["OUTBOXD_DATABASE_URL"] = producer.url(on);
  const auto refused = run_outboxd(words, as_producer);
  CHECK(refused.exited(1));
  CHECK_MESSAGE(refused.says("belongs to " + owner.name()), refused.text());
}

TEST_CASE("adopt: it can be printed, made again in another way, and removed, twice as well") {
  const stage on;
  auto session = on.connect();
  session.exec(debezium_table);
  const auto made = [&] {
    return session.number("SELECT count(*) FROM pg_proc WHERE proname LIKE 'outboxd\\_%'");
  };
  const arguments remove{"adopt", "--table", "outboxevent", "--remove"};
  const auto script = adopt(on, adopt_debezium + arguments{"--print", "--where", "NEW.type <> 'x' -- no"});
  CHECK(made() == 0);
  session.exec(script);
  insert_rows(session, on, 2);
  CHECK(events(session) == 2);
  CHECK(
      adopt(on, adopt_debezium + arguments{"--keep", "--map", "event_type=tenant"}).find("is adopted anew") !=
      std::string::npos);
  session.exec(
      "INSERT INTO outboxevent (aggregatetype, aggregateid, type, payload, tenant) VALUES ('a', 'b', 'x', "
      "'{}', 'new')");
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE event_type = 'new'") == 1);
  CHECK(events(session) == 3);
  CHECK(made() == 1);
  CHECK(adopt(on, remove + arguments{"--print"}).find("DROP TRIGGER") != std::string::npos);
  CHECK(made() == 1);
  CHECK(adopt(on, remove).find("removed triggers") == 0);
  CHECK(made() == 0);
  CHECK(adopt(on, remove).find("nothing to remove") != std::string::npos);
  insert_rows(session, on, 2);
  CHECK(events(session) == 3);
}

TEST_CASE("adopt: a lock that it needs is waited for in short tries, between which writers write") {
  const stage on;
  auto session = on.connect();
  session.exec(debezium_table);
  session.exec("BEGIN");
  insert_rows(session, on, 1);
  process adopting{{.program = outboxd_binary(),
                    .arguments = adopt_debezium,
                    .environment = on.variables(),
                    .log_file = {}}};
  adopting.wait_line("others hold locks of public.outboxevent");
  adopting.wait_line("others hold locks of public.outboxevent", time_limit, adopting.lines().size());
  auto other = on.connect();
  insert_rows(other, on, 1);
  CHECK(events(other) == 0);
  session.exec("COMMIT");
  CHECK(adopting.wait(time_limit).code == 0);
  insert_rows(other, on, 1);
  CHECK(events(other) == 1);
}

}  // namespace outboxd::test::adopt_test

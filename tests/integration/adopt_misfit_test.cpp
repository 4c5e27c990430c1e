// adopt: rows that cannot be events. The user says what becomes of them, and is asked where they are likely;
// unless INSERTs are to be refused, none fails that did not fail before.
#include <doctest/doctest.h>

#include "adopted.hpp"
#include "login.hpp"

namespace outboxd::test::adopt_misfit_test {
namespace {

const std::string uuid = "'00000000-0000-4000-8000-00000000000";
const std::string good = "'{\"n\": 1}'";

struct row {
  std::string name;
  std::string values;   // of id, aggregatetype, aggregateid, type, payload, headers
  std::string refused;  // the SQLSTATE if such rows are refused; empty: it is an event
};

const std::vector<row> rows{
    {"an event", uuid + "1', 'order', '1', 'e', " + good + ", '{\"a\": 1}'", ""},
    {"no headers", uuid + "2', 'order', '1', 'e', " + good + ", NULL", ""},
    {"no id", "NULL, 'order', '1', 'e', " + good + ", NULL", ""},
    {"a payload of one number", "NULL, 'order', '1', 'e', '1', NULL", ""},
    {"a name too long for AMQP", "NULL, 'order', '1', repeat('e', 300), " + good + ", NULL", ""},
    {"an aggregate too long for an index", "NULL, 'order', repeat('1', 100000), 'e', " + good + ", NULL", ""},
    {"an id that is there", uuid + "1', 'order', '1', 'e', " + good + ", NULL", "23505"},
    {"an id that is no uuid", "'1', 'order', '1', 'e', " + good + ", NULL", "22P02"},
    {"no aggregate type", "NULL, NULL, '1', 'e', " + good + ", NULL", "23502"},
    {"no aggregate id", "NULL, 'order', NULL, 'e', " + good + ", NULL", "23502"},
    {"no event type", "NULL, 'order', '1', NULL, " + good + ", NULL", "23502"},
    {"an empty aggregate type", "NULL, '', '1', 'e', " + good + ", NULL", "23514"},
    {"an empty aggregate id", "NULL, 'order', '', 'e', " + good + ", NULL", "23514"},
    {"an empty event type", "NULL, 'order', '1', '', " + good + ", NULL", "23514"},
    {"no payload", "NULL, 'order', '1', 'e', NULL, NULL", "23502"},
    {"an empty payload", "NULL, 'order', '1', 'e', '', NULL", "22P02"},
    {"a payload that is no JSON", "NULL, 'order', '1', 'e', '{\"n\": ', NULL", "22P02"},
    {"a payload with a NUL", "NULL, 'order', '1', 'e', '{\"n\": \"\\u0000\"}', NULL", "22P05"},
    {"a payload with a huge number", "NULL, 'order', '1', 'e', '1e999999', NULL", "22003"},
    {"a payload that is too deep", "NULL, 'order', '1', 'e', repeat('[', 100000), NULL", "54001"},
    {"headers that are no JSON", "NULL, 'order', '1', 'e', " + good + ", 'a'", "22P02"},
    {"headers that are no object", "NULL, 'order', '1', 'e', " + good + ", '[1]'", "23514"},
};

std::string table(bool divided) {
  return fmt::format(
      "CREATE TABLE public.outboxevent (key bigint GENERATED ALWAYS AS IDENTITY, part int DEFAULT 1, id text,"
      " aggregatetype text, aggregateid text, type text, payload text, headers text, PRIMARY KEY (key, "
      "part)){}",
      divided ? " PARTITION BY LIST (part); CREATE TABLE public.one PARTITION OF public.outboxevent FOR "
                "VALUES IN (1)"
              : "");
}

std::string sqlstate_of(database& session, const std::string& sql) {
  try {
    session.exec(sql);
    return "";
  } catch (const database_error& error) {
    return error.sqlstate;
  }
}

std::string insert(const std::string& values) {
  return "INSERT INTO public.outboxevent (id, aggregatetype, aggregateid, type, payload, headers) VALUES (" +
         values + ")";
}

std::int64_t count(database& session, const std::string& name) {
  return session.number("SELECT count(*) FROM " + name);
}

const arguments preset{"adopt", "--table", "public.outboxevent", "--preset", "debezium"};
// The same columns, and no choices.
const arguments mapped{"adopt",
                       "--table",
                       "public.outboxevent",
                       "--map",
                       "id=id",
                       "--map",
                       "aggregate_type=aggregatetype",
                       "--map",
                       "aggregate_id=aggregateid",
                       "--map",
                       "event_type=type",
                       "--map",
                       "payload=payload"};

program_result refused_adoption(const stage& on, const arguments& words) {
  auto done = run_outboxd(words, on.variables());
  CHECK_MESSAGE(done.exited(2), done.text());
  return done;
}

}  // namespace

TEST_CASE("adopt: an INSERT of whatever an event cannot be passes, or is refused, as it was chosen") {
  for (const bool divided : {false, true}) {
    const stage on;
    auto session = on.connect();
    session.exec(table(divided));
    for (const bool keeps : {false, true}) {
      for (const std::string choice : {"refuse", "skip"}) {
        session.exec("TRUNCATE outbox.event; TRUNCATE public.outboxevent");
        adopt(on, preset +
                      arguments{"--map", "headers=headers", "--null-payload", choice, "--unfit", choice} +
                      (keeps ? arguments{"--keep"} : arguments{}));
        for (const auto& one : rows) {
          CAPTURE(divided);
          CAPTURE(keeps);
          CAPTURE(choice);
          CAPTURE(one.name);
          const auto events = count(session, "outbox.event");
          const auto left = count(session, "public.outboxevent");
          // The first of its session, as from a pool of short ones: PostgreSQL plans it with its values.
          auto writer = on.connect();
          CHECK(sqlstate_of(writer, insert(one.values)) == (choice == "refuse" ? one.refused : ""));
          const bool copied = one.refused.empty();
          CHECK(count(session, "outbox.event") == events + (copied ? 1 : 0));
          const bool stays = keeps ? copied || choice == "skip" : !copied && choice == "skip";
          CHECK(count(session, "public.outboxevent") == left + (stays ? 1 : 0));
        }
      }
    }
  }
}

TEST_CASE("adopt: of many rows at once those that cannot be events stay, and a backlog leaves them, too") {
  const stage on;
  auto session = on.connect();
  session.exec(table(false));
  const std::string three = insert(
      "NULL, 'order', '1', 'e', '{}', NULL), (NULL, 'order', '', 'e', '{}', NULL),"
      " (NULL, 'order', '2', 'e', '{}', NULL");
  session.exec(three);
  const arguments skip = preset + arguments{"--null-payload", "skip", "--unfit", "skip"};
  CHECK(adopt(on, skip + arguments{"--backlog"}).find("copied 2 existing rows") != std::string::npos);
  session.exec(three);
  CHECK(count(session, "outbox.event") == 4);
  CHECK(session.number("SELECT count(*) FROM public.outboxevent WHERE aggregateid = ''") == 2);
  CHECK(count(session, "public.outboxevent") == 2);
  session.exec("UPDATE public.outboxevent SET aggregateid = '3'");
  CHECK(adopt(on, skip + arguments{"--backlog"}).find("copied 2 existing rows") != std::string::npos);
  CHECK(count(session, "public.outboxevent") == 0);
}

TEST_CASE("adopt: whoever uses an id first takes nobody's row away, neither now nor from a backlog") {
  for (const bool divided : {false, true}) {
    const stage on;
    auto session = on.connect();
    session.exec(table(divided));
    const arguments skip = preset + arguments{"--null-payload", "skip", "--unfit", "skip"};
    const auto take = [&](const std::string& id) {
      session.exec(
          "INSERT INTO outbox.event (id, aggregate_type, aggregate_id, event_type, payload) VALUES (" + uuid +
          id + "', 'order', '1', 'e', '{}')");
    };
    const auto row = [&](const std::string& id) { return uuid + id + "', 'order', '1', 'e', '{}', NULL"; };
    take("1");
    session.exec(insert(row("1") + "), (" + row("2")));
    CHECK(adopt(on, skip + arguments{"--backlog"}).find("copied 1 existing row") != std::string::npos);
    CHECK(session.value("SELECT string_agg(right(id, 1), ',') FROM public.outboxevent") == "1");
    take("3");
    CHECK(sqlstate_of(session, insert(row("3") + "), (" + row("4"))).empty());
    CHECK(session.value("SELECT string_agg(right(id, 1), ',' ORDER BY id) FROM public.outboxevent") == "1,3");
    CHECK(session.value("SELECT string_agg(right(id::text, 1), ',' ORDER BY id) FROM outbox.event") ==
          "1,2,3,4");
  }
}

TEST_CASE("adopt: a payload that is null becomes what was chosen") {
  for (const std::string type : {"jsonb", "json", "text", "bytea"}) {
    const stage on{{.payload = type}};
    auto session = on.connect();
    session.exec(table(false));
    const auto body = [&](const std::string& choice) {
      session.exec("TRUNCATE outbox.event");
      adopt(on, preset + arguments{"--null-payload", choice, "--unfit", "skip"});
      session.exec(insert("NULL, 'order', '1', 'e', NULL, NULL"));
      CHECK(count(session, "public.outboxevent") == 0);
      return session.value(type == "bytea" ? "SELECT convert_from(payload, 'UTF8') FROM outbox.event"
                                           : "SELECT payload::text FROM outbox.event");
    };
    CAPTURE(type);
    CHECK(body("json-null") == "null");
    if (type == "text" || type == "bytea")
      CHECK(body("empty").empty());
    else
      CHECK(refused_adoption(on, preset + arguments{"--null-payload", "empty", "--unfit", "skip"})
                .says("no JSON is "
                      "empty"));
  }
}

TEST_CASE("adopt: it asks what becomes of rows that the columns allow and an event does not") {
  const stage on;
  auto session = on.connect();
  const auto make = [&](const std::string& names, const std::string& payload) {
    session.exec(
        fmt::format("DROP TABLE IF EXISTS outboxevent; CREATE TABLE outboxevent (id uuid PRIMARY KEY DEFAULT"
                    " gen_random_uuid(), aggregatetype text {0}, aggregateid text {0}, type text {0}, payload"
                    " jsonb {1})",
                    names, payload));
  };
  make("NOT NULL", "");
  CHECK(refused_adoption(on, mapped).says("column payload of public.outboxevent may be null"));
  CHECK(refused_adoption(on, mapped + arguments{"--null-payload", "no"}).says("--null-payload 'no'"));
  CHECK(refused_adoption(on, mapped + arguments{"--null-payload", "skip", "--unfit", "no"})
            .says("--unfit 'no'"));
  CHECK(adopt(on, mapped + arguments{"--null-payload", "skip", "--print"}).find("IS NOT NULL") !=
        std::string::npos);
  adopt(on, mapped + arguments{"--null-payload", "skip"});
  make("", "NOT NULL");
  const auto asked = refused_adoption(on, mapped);
  CHECK_MESSAGE(asked.says("aggregatetype (aggregate_type), aggregateid (aggregate_id), type (event_type)"),
                asked.text());
  CHECK(asked.says("--unfit skip"));
  make("NOT NULL", "NOT NULL");
  session.exec(
      "INSERT INTO outboxevent (aggregatetype, aggregateid, type, payload) VALUES ('order', '', 'e', '{}')");
  CHECK(refused_adoption(on, mapped).says("has rows with an empty text"));
  adopt(on, mapped + arguments{"--unfit", "skip"});
  session.exec("DELETE FROM outboxevent");
  adopt(on, mapped);
  session.exec(
      "INSERT INTO outboxevent (aggregatetype, aggregateid, type, payload) VALUES ('order', '', 'e', '{}')");
  CHECK(count(session, "outbox.event") == 0);
  CHECK(count(session, "outboxevent") == 1);
  const std::string twin = "INSERT INTO outboxevent VALUES (" + uuid + "1', 'order', '1', 'e', " + good + ")";
  CHECK(sqlstate_of(session, twin).empty());
  CHECK(sqlstate_of(session, twin) == "23505");
  CHECK(refused_adoption(on, {"adopt", "--table", "outboxevent", "--remove", "--unfit", "skip"})
            .says("--remove"));
}

TEST_CASE(
    "adopt: the preset of Debezium takes its own table without a further option, and says what it chose") {
  const stage on;
  auto session = on.connect();
  for (const auto* key : {", PRIMARY KEY (id)", ""})
    for (const auto* payload : {"jsonb", "varchar(4000)"}) {
      CAPTURE(key);
      CAPTURE(payload);
      session.exec(fmt::format(
          "TRUNCATE outbox.event; DROP TABLE IF EXISTS outboxevent; CREATE TABLE outboxevent (id "
          "uuid NOT NULL, aggregatetype varchar(255) NOT NULL, aggregateid varchar(255) NOT NULL, "
          "type varchar(255) NOT NULL, payload {}{})",
          payload, key));
      const auto said = adopt(on, preset);
      CHECK_MESSAGE(
          said.find("the preset debezium chooses --null-payload json-null (the body is null), "
                    "--unfit skip (the row is not copied, and stays in the table)") != std::string::npos,
          said);
      const bool kept = std::string_view(key).empty();
      CHECK((said.find("--keep") != std::string::npos) == kept);
      session.exec(
          "INSERT INTO outboxevent VALUES (gen_random_uuid(), 'order', '1', 'order.created', '{\"n\": 1}'),"
          " (gen_random_uuid(), 'order', '1', 'order.deleted', NULL), (gen_random_uuid(), '', '1', 'e', "
          "'1')");
      CHECK(session.value("SELECT string_agg(payload::text, ' ' ORDER BY seq) FROM outbox.event") ==
            "{\"n\": 1} null");
      CHECK(count(session, "outboxevent") == (kept ? 3 : 1));
    }
  const auto told = adopt(on, preset + arguments{"--null-payload", "skip", "--unfit", "refuse", "--keep"});
  CHECK_MESSAGE(told.find("chooses") == std::string::npos, told);
}

TEST_CASE("adopt: a writer who may do nothing else, under row security, and by COPY FREEZE, writes events") {
  const login producer{""};
  const stage on;
  auto session = on.connect();
  session.exec(table(false));
  session.exec(fmt::format(
      "ALTER TABLE outboxevent ENABLE ROW LEVEL SECURITY;"
      "CREATE POLICY own ON outboxevent FOR INSERT TO PUBLIC WITH CHECK (aggregatetype = 'order');"
      "GRANT INSERT ON outboxevent TO {}",
      producer.name()));
  adopt(on, preset + arguments{"--null-payload", "skip", "--unfit", "skip"});
  database writer{producer.url(on)};
  writer.exec(insert("NULL, 'order', '1', 'e', '{}', NULL"));
  writer.exec(insert("NULL, 'order', '1', 'e', 'no JSON', NULL"));
  writer.exec(insert("NULL, 'order', '1', 'e', NULL, NULL"));
  CHECK(count(session, "outbox.event") == 1);
  CHECK(count(session, "outboxevent") == 2);
  session.exec("BEGIN; TRUNCATE outboxevent");
  const std::string lines = "order\t1\te\t{}\norder\t\\N\te\t{}\norder\t2\te\tno JSON\n";
  PQclear(PQexec(session.handle(),
                 "COPY outboxevent (aggregatetype, aggregateid, type, payload) FROM STDIN (FREEZE)"));
  REQUIRE(PQputCopyData(session.handle(), lines.data(), static_cast<int>(lines.size())) == 1);
  REQUIRE(PQputCopyEnd(session.handle(), nullptr) == 1);
  while (auto* const answer = PQgetResult(session.handle())) PQclear(answer);
  session.exec("COMMIT");
  CHECK(count(session, "outbox.event") == 2);
  CHECK(count(session, "outboxevent") == 2);
}

}  // namespace outboxd::test::adopt_misfit_test

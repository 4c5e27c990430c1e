// emit: whatever a producer has at hand gives one event, in SQL and through drivers; no call is ambiguous.
#include <doctest/doctest.h>

#include "login.hpp"
#include "stage.hpp"

namespace outboxd::test::emit_test {
namespace {

constexpr std::string_view untyped = "untyped";

/// What stands between the parentheses, and the event that comes of it. `parameters` and their types: as a
/// driver sends them, which prepares the statement; `untyped`: without a type, as libpq and most others do.
struct call {
  std::string arguments;
  std::string aggregate_id = "42";
  std::string payload = R"({"n": 1})";
  std::string headers = "{}";
  std::string types = {};
  std::vector<cell> parameters = {};
};

constexpr auto what_people_have =
    "CREATE TYPE size AS ENUM ('large'); CREATE DOMAIN order_number AS bigint; CREATE DOMAIN document AS "
    "text;"
    "CREATE TABLE have (i int, s smallint, n numeric(5, 2), u uuid, e size, t text, v varchar(9), c char(2), "
    "d "
    "order_number, f document,"
    " j json, b jsonb, h json);"
    "INSERT INTO have VALUES (42, 42, 4.20, '00000000-0000-4000-8000-000000000042', 'large', '{\"n\": 1}', "
    "'{\"n\": 1}', '42', 42,"
    " '{\"n\": 1}', '{\"n\": 1}', '{\"n\": 1}', '{\"tenant\": \"acme\"}');"
    "CREATE TABLE line (n int); INSERT INTO line VALUES (1); GRANT SELECT ON have, line TO PUBLIC";

const std::string acme = R"({"tenant": "acme"})";
const std::string literal = R"('{"n": 1}')";
const std::string literal_headers = R"('{"tenant": "acme"}')";

const std::vector<call> calls{
    // The aggregate's id.
    {"'order', '42', 'e', " + literal},
    {"'order', 42, 'e', " + literal},
    {"'order', 42::bigint, 'e', " + literal},
    {"'order', i, 'e', " + literal},
    {"'order', s, 'e', " + literal},
    {"'order', d, 'e', " + literal},
    {"'order', c, 'e', " + literal},
    {"'order', i::text, 'e', " + literal},
    {"'order', i || '', 'e', " + literal},
    {"'order', have.n, 'e', " + literal, "4.20"},
    {"'order', u, 'e', " + literal, "00000000-0000-4000-8000-000000000042"},
    {"'order', e, 'e', " + literal, "large"},
    {"'order', v, 'e', " + literal, R"({"n": 1})"},
    // The payload.
    {"'order', 42, 'e', t"},
    {"'order', 42, 'e', v"},
    {"'order', 42, 'e', f"},
    {"'order', 42, 'e', j"},
    {"'order', 42, 'e', b"},
    {"'order', '42', 'e', b"},
    {"'order', 42, 'e', '{\"n\": ' || 1 || '}'"},
    {"'order', 42, 'e', (SELECT row_to_json(line) FROM line)"},
    {"'order', 42, 'e', (SELECT to_jsonb(line) FROM line)"},
    {"'order', 42, 'e', json_build_object('n', 1)"},
    {"'order', 42, 'e', jsonb_build_object('n', 1)"},
    {"'order', 42, 'e', format('{\"n\": %s}', 1)"},
    {"'order', 42, 'e', 'null'", "42", "null"},
    {"'order', 42, 'e', 'null'::jsonb", "42", "null"},
    // The headers, beside each kind of payload.
    {"'order', 42, 'e', " + literal + ", " + literal_headers, "42", R"({"n": 1})", acme},
    {"'order', 42, 'e', " + literal + ", h", "42", R"({"n": 1})", acme},
    {"'order', 42, 'e', " + literal + ", h::jsonb", "42", R"({"n": 1})", acme},
    {"'order', 42, 'e', " + literal + ", h::text", "42", R"({"n": 1})", acme},
    {"'order', 42, 'e', b, " + literal_headers, "42", R"({"n": 1})", acme},
    {"'order', 42, 'e', b, h", "42", R"({"n": 1})", acme},
    {"'order', 42, 'e', b, h::jsonb", "42", R"({"n": 1})", acme},
    {"'order', 42, 'e', b, h::varchar", "42", R"({"n": 1})", acme},
    {"'order', 42, 'e', t, jsonb_build_object('tenant', 'acme')", "42", R"({"n": 1})", acme},
    {"'order', 42, 'e', j, json_build_object('tenant', 'acme')", "42", R"({"n": 1})", acme},
    // Nulls are the defaults.
    {"'order', 42, 'e', " + literal + ", headers => NULL, available_at => NULL, id => NULL"},
    {"'order', 42, 'e', b, headers => NULL, available_at => NULL, id => NULL"},
    {"'order', '42', 'e', " + literal + ", NULL, NULL, NULL"},
    {"'order', u, 'e', j, NULL, NULL, NULL", "00000000-0000-4000-8000-000000000042"},
    {"'order', 42, 'e', b, NULL::json, NULL::timestamptz, NULL::uuid"},
    {"'order', 42, 'e', b, NULL::jsonb"},
    {"'order', 42, 'e', b, NULL::text"},
    // Arguments by name, and a time.
    {"aggregate_type => 'order', aggregate_id => 42, event_type => 'e', payload => b"},
    {"payload => " + literal + ", event_type => 'e', aggregate_id => u, aggregate_type => 'order'",
     "00000000-0000-4000-8000-000000000042"},
    {"'order', 42, 'e', b, available_at => now()"},
    {"'order', 42, 'e', " + literal + ", available_at => '2020-01-01'"},
    {"'order', 42, 'e', " + literal + ", id => gen_random_uuid()"},
    {"'order', 42, 'e', " + literal + ", available_at => current_date, id => gen_random_uuid()::text::uuid"},
    // Parameters.
    {"$1, $2, $3, $4", "42", R"({"n": 1})", "{}", std::string(untyped), {"order", "42", "e", R"({"n": 1})"}},
    {"$1, $2, $3, $4, $5",
     "42",
     R"({"n": 1})",
     acme,
     std::string(untyped),
     {"order", "42", "e", R"({"n": 1})", acme}},
    {"$1, $2, $3, $4, $5, $6, $7",
     "42",
     R"({"n": 1})",
     "{}",
     std::string(untyped),
     {"order", "42", "e", R"({"n": 1})", {}, {}, {}}},
    {"$1, $2, $3, $4, available_at => $5",
     "42",
     R"({"n": 1})",
     "{}",
     std::string(untyped),
     {"order", "42", "e", R"({"n": 1})", "2020-01-01"}},
    {"$1, $2, $3, $4, id => $5",
     "42",
     R"({"n": 1})",
     "{}",
     std::string(untyped),
     {"order", "42", "e", R"({"n": 1})", {}}},
    {"'order', $1, 'e', to_jsonb(line)", "42", R"({"n": 1})", "{}", std::string(untyped), {"42"}},
    {"$1, $2, $3, $4",
     "42",
     R"({"n": 1})",
     "{}",
     "text, text, text, text",
     {"order", "42", "e", R"({"n": 1})"}},
    // JDBC's setString, setLong, setObject with a UUID, setNull.
    {"$1, $2, $3, $4, $5",
     "42",
     R"({"n": 1})",
     acme,
     "varchar, varchar, varchar, varchar, varchar",
     {"order", "42", "e", R"({"n": 1})", acme}},
    {"$1, $2, $3, $4, $5",
     "42",
     R"({"n": 1})",
     acme,
     "varchar, bigint, varchar, unknown, unknown",
     {"order", "42", "e", R"({"n": 1})", acme}},
    {"$1, $2, $3, $4, $5, $6, $7",
     "00000000-0000-4000-8000-000000000042",
     R"({"n": 1})",
     acme,
     "varchar, uuid, varchar, varchar, varchar, timestamptz, uuid",
     {"order", "00000000-0000-4000-8000-000000000042", "e", R"({"n": 1})", acme, {}, {}}},
    // A driver that knows its languages' types: psycopg, Npgsql, pgx.
    {"$1, $2, $3, $4, $5",
     "42",
     R"({"n": 1})",
     acme,
     "text, smallint, text, jsonb, jsonb",
     {"order", "42", "e", R"({"n": 1})", acme}},
    {"$1, $2, $3, $4, $5",
     "42",
     R"({"n": 1})",
     acme,
     "unknown, int, unknown, json, jsonb",
     {"order", "42", "e", R"({"n": 1})", acme}},
};

std::string quoted(const cell& value) {
  return value ? "'" + *value + "'" : "NULL";  // none of them has a quotation mark
}

std::string emitted(database& session, const call& one) {
  const auto sql = "SELECT outbox.emit(" + one.arguments + ") FROM have, line";
  if (one.types.empty() || one.types == untyped) return session.value(sql, one.parameters);
  std::string values;
  for (const auto& each : one.parameters) values += (values.empty() ? "" : ", ") + quoted(each);
  session.exec("PREPARE typed (" + one.types + ") AS " + sql);
  const auto id = session.value("EXECUTE typed (" + values + ")");
  session.exec("DEALLOCATE typed");
  return id;
}

std::string refusal(database& session, const std::string& arguments) {
  try {
    session.exec("SELECT outbox.emit(" + arguments + ") FROM have");
    return "";
  } catch (const database_error& error) {
    return error.sqlstate + " " + error.what();
  }
}

}  // namespace

TEST_CASE("emit takes what people have at hand, and a null for a default") {
  for (const std::string type : {"jsonb", "json", "text"}) {
    const stage on{{.payload = type}};
    auto admin = on.connect();
    admin.exec(what_people_have);
    const login user{"outbox_writer"};
    database session{user.url(on)};
    for (const call& one : calls) {
      CAPTURE(type);
      CAPTURE(one.arguments);
      CAPTURE(one.types);
      const auto id = emitted(session, one);
      const auto row = admin.exec(
          "SELECT aggregate_type, aggregate_id, event_type, payload::text::jsonb, headers, status FROM "
          "outbox.event"
          " WHERE id = $1 AND available_at <= now() AND available_at > '2019-12-31'",
          {id});
      REQUIRE(row.size() == 1);
      CHECK(row.front() == cells{"order", one.aggregate_id, "e", one.payload, one.headers, "pending"});
    }
    CHECK(admin.number("SELECT count(*) FROM outbox.event") == static_cast<std::int64_t>(calls.size()));
  }
}

TEST_CASE("emit keeps what was given: an id, a time, and the bytes where the outbox keeps them") {
  const std::string id = "00000000-0000-4000-8000-0000000000ff";
  const std::string text = R"({"b":1,  "a" : 1e2})";
  for (const std::string type : {"json", "text", "bytea"}) {
    CAPTURE(type);
    const stage on{{.payload = type}};
    auto session = on.connect();
    CHECK(session.value("SELECT outbox.emit('order', 42, 'e', $1, NULL, 'infinity', $2)", {text, id}) == id);
    CHECK(session.value("SELECT available_at FROM outbox.event") == "infinity");
    const auto stored = type == "bytea" ? "convert_from(payload, 'UTF8')" : "payload::text";
    CHECK(session.value(fmt::format("SELECT {} FROM outbox.event", stored)) == text);
    CHECK_THROWS_WITH_AS(session.exec("SELECT outbox.emit('order', 42, 'e', $1, id => $2)", {text, id}),
                         doctest::Contains("event_pkey"), database_error);
    if (type == "bytea") {
      session.exec("SELECT outbox.emit('order', 42, 'e', '\\x00ff'::bytea, '{}'::json)");
      continue;
    }
    session.exec("SELECT outbox.emit('order', 43, 'e', $1::json)", {text});
    CHECK(session.value("SELECT payload::text FROM outbox.event WHERE aggregate_id = '43'") == text);
  }
}

TEST_CASE("emit takes a row of a table for a payload of JSON, and a trigger's NEW") {
  for (const std::string type : {"jsonb", "json"}) {
    const stage on{{.payload = type}};
    auto session = on.connect();
    session.exec(
        "CREATE TABLE orders (id int, total int);"
        "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " PERFORM outbox.emit('order', NEW.id, 'order.' || lower(TG_OP), NEW); RETURN NULL; END $$;"
        "CREATE TRIGGER tell AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION tell();"
        "INSERT INTO orders VALUES (42, 10); SELECT outbox.emit('order', o.id, 'order.insert', o) FROM "
        "orders AS o");
    CHECK(session.number(
              "SELECT count(*) FROM outbox.event WHERE aggregate_id = '42' AND event_type = 'order.insert'"
              " AND payload::jsonb = '{\"id\": 42, \"total\": 10}'") == 2);
  }
}

TEST_CASE("emit refuses what is no event, and the message names the argument") {
  const stage on;
  auto session = on.connect();
  session.exec(what_people_have);
  for (const auto& [arguments, words] : std::vector<std::pair<std::string, std::string>>{
           {"'order', NULL, 'e', '{}'", "23502 \"aggregate_id\""},
           {"NULL, 42, 'e', '{}'", "23502 \"aggregate_type\""},
           {"'order', 42, NULL, '{}'", "23502 \"event_type\""},
           {"'order', 42, 'e', NULL", "23502 \"payload\""},
           {"'order', 42, 'e', NULL::json", "23502 \"payload\""},
           {"'order', 42, 'e', 'no JSON'", "22P02 json"},
           {"'order', '', 'e', '{}'", "23514 aggregate_id"},
           {"'order', 42, 'e', '{}', '[]'", "23514 headers"},
           {"'order', 42, 'e', '{}', 'null'", "23514 headers"},
           {"'order', ARRAY[42], 'e', '{}'", "42883 integer[]"}}) {
    const auto refused = refusal(session, arguments);
    CHECK_MESSAGE(refused.starts_with(words.substr(0, 5)), arguments, ": ", refused);
    CHECK_MESSAGE(refused.find(words.substr(6)) != std::string::npos, arguments, ": ", refused);
  }
  CHECK(session.number("SELECT count(*) FROM outbox.event") == 0);
}

TEST_CASE("a null in an INSERT is as good as the default of headers and available_at, and of nothing else") {
  const stage on;
  const login user{"outbox_writer"};
  database session{user.url(on)};
  const auto insert = [&](const std::string& columns, const std::string& values) {
    return session.exec("INSERT INTO outbox.event (" + columns + ") VALUES (" + values + ") RETURNING id");
  };
  insert("aggregate_type, aggregate_id, event_type, payload, headers, exchange, routing_key, available_at",
         "'order', '1', '" + on.key() + "', '{}', NULL, NULL, NULL, NULL");
  relay running{on};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
  const std::string all = "aggregate_type, aggregate_id, event_type, payload";
  CHECK_THROWS_WITH_AS(insert(all + ", id", "'order', '1', 'e', '{}', NULL"), doctest::Contains("\"id\""),
                       database_error);
  for (const auto& [values, column] :
       std::vector<std::pair<std::string, std::string>>{{"NULL, '1', 'e', '{}'", "\"aggregate_type\""},
                                                        {"'order', NULL, 'e', '{}'", "\"aggregate_id\""},
                                                        {"'order', '1', NULL, '{}'", "\"event_type\""},
                                                        {"'order', '1', 'e', NULL", "\"payload\""}})
    CHECK_THROWS_WITH_AS(insert(all, values), doctest::Contains(column.c_str()), database_error);
}

}  // namespace outboxd::test::emit_test

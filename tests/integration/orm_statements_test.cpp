// orm_statements: what object mappers send, against the table: as tools/check-orms has recorded it, and for
// those that it does not run as their manuals and sources tell.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "login.hpp"
#include "stage.hpp"

namespace outboxd::test::orm_statements_test {
namespace {

const std::filesystem::path orms{ORMS_DIRECTORY};

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  REQUIRE_MESSAGE(in, file);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

void make_shop(database& admin) {
  admin.exec(text_of(orms / "shop.sql"));
  admin.exec("GRANT USAGE ON SCHEMA shop TO PUBLIC; GRANT ALL ON ALL TABLES IN SCHEMA shop TO PUBLIC");
}

// One line of what was recorded: {"sql": "...", "parameters": ["...", null]}.
void replay(database& admin, database& session, const std::string& line) {
  std::vector<cell> parameters;
  for (const auto& row : admin.exec("SELECT json_array_elements_text($1::json->'parameters')", {line}))
    parameters.push_back(row.front());
  session.exec(admin.value("SELECT $1::json->>'sql'", {line}), parameters);
}

// Statements are replayed one by one: a mapper's rollback is among them.
void replay_all(const std::filesystem::path& file, database& admin, database& session) {
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    CAPTURE(line);
    CHECK_NOTHROW(replay(admin, session, line));
  }
}

struct mapper {
  std::string name;
  std::string
      sql;  // $1 and on: order, the order's id, the event's type, payload; $5: a uuid, where there is one
};

}  // namespace

TEST_CASE("what object mappers send is an event for each order, and for none that was rolled back") {
  int mappers = 0;
  for (const auto& file : std::filesystem::directory_iterator(orms / "recorded")) {
    CAPTURE(file.path().filename());
    const stage on;
    const login user{"outbox_writer"};
    auto admin = on.connect();
    make_shop(admin);
    database session{user.url(on)};
    replay_all(file.path(), admin, session);
    const auto wrong = admin.exec(text_of(orms / "expected.sql"));
    CHECK_MESSAGE(wrong.empty(), (wrong.empty() ? std::string() : wrong.front().front().value_or("?")));
    CHECK(admin.number("SELECT count(*) FROM outbox.event") == 4);
    ++mappers;
  }
  CHECK(mappers >= 8);
}

TEST_CASE("outbox_writer may insert with the statements of further object mappers") {
  const stage on;
  const login writer{"outbox_writer"};
  database session{writer.url(on)};
  const std::string columns = "aggregate_type, aggregate_id, event_type, payload";
  const std::vector<mapper> mappers{
      {"SQLAlchemy 2.0",
       "INSERT INTO outbox.event (" + columns +
           ") VALUES ($1::VARCHAR, $2::VARCHAR, $3::VARCHAR, $4::JSONB) RETURNING outbox.event.id"},
      {"SQLAlchemy 2.0, many at once",
       "INSERT INTO outbox.event (" + columns +
           ") SELECT p0::VARCHAR, p1::VARCHAR, p2::VARCHAR, p3::JSONB"
           " FROM (VALUES ($1, $2, $3, $4, 0), ($1, $2, $3, $4, 1)) AS imp_sen(p0, p1, p2, p3, sen_counter)"
           " ORDER BY sen_counter RETURNING outbox.event.id, outbox.event.id AS id__1"},
      {"Hibernate 6, an id made in Java",
       "insert into outbox.event (aggregate_id,aggregate_type,available_at,event_type,headers,payload,id)"
       " values ($2,$1,null,$3,null,$4,gen_random_uuid())"},
      {"Hibernate 6, an id made by the database",
       "insert into outbox.event (aggregate_id,aggregate_type,event_type,payload) values ($2,$1,$3,$4::jsonb)"
       " returning id"},
      {"Entity Framework 8",
       "INSERT INTO outbox.event (aggregate_id, aggregate_type, available_at, event_type,"
       " headers, payload) VALUES ($2, $1, NULL, $3, NULL, $4) RETURNING id"},
      {"Prisma, $queryRaw", "SELECT outbox.emit($1, $2, $3, $4)"},
      {"psycopg, pgx, sqlc", "SELECT outbox.emit($1, $2, $3, $4, available_at => NULL)"},
  };
  for (const auto& one : mappers) {
    CHECK_MESSAGE(session.exec(one.sql, {"order", one.name, on.key(), "{}"}).size() <= 2, one.name);
    CHECK(on.connect().number("SELECT count(*) FROM outbox.event WHERE aggregate_id = $1"
                              " AND coalesce(headers, '{}') = '{}'",
                              {one.name}) == (one.name.ends_with("many at once") ? 2 : 1));
  }
}

// docs/producers.md and docs/security.md tell why.
TEST_CASE("outbox_writer may read back what the database filled in, and set no created_at") {
  const stage on;
  const login writer{"outbox_writer"};
  database session{writer.url(on)};
  const std::string insert =
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload{}) VALUES"
      " ('order', '1', 'e', '{{}}'{}) RETURNING {}";
  CHECK(session.exec(fmt::format(fmt::runtime(insert), "", "", "id, seq, created_at, available_at")).size() ==
        1);
  for (const std::string column : {"status", "payload", "headers", "aggregate_id", "tx"})
    CHECK_THROWS_WITH_AS(session.exec(fmt::format(fmt::runtime(insert), "", "", "id, " + column)),
                         doctest::Contains("permission denied"), database_error);
  CHECK_THROWS_WITH_AS(session.exec(fmt::format(fmt::runtime(insert), ", created_at", ", now()", "id")),
                       doctest::Contains("permission denied"), database_error);
  CHECK(on.count("pending") == 1);
}

}  // namespace outboxd::test::orm_statements_test

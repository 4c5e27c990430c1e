// adopt: what it refuses, and how it says so.
#include <doctest/doctest.h>

#include "adopted.hpp"

namespace outboxd::test::adopt_refusal_test {

TEST_CASE("adopt: what cannot be adopted gets a clear answer, and nothing is made") {
  const stage on;
  auto session = on.connect();
  session.exec(debezium_table);
  session.exec(
      "CREATE VIEW seen AS SELECT * FROM outboxevent;"
      "CREATE MATERIALIZED VIEW frozen AS SELECT * FROM outboxevent;"
      "CREATE SEQUENCE counter;"
      "CREATE TABLE numbered (id bigint PRIMARY KEY, aggregatetype text, aggregateid text, type text, "
      "payload jsonb);"
      "CREATE TABLE bytes (id uuid PRIMARY KEY, aggregatetype text, aggregateid text, type text, payload "
      "bytea);"
      "CREATE TABLE pointed (id uuid PRIMARY KEY, aggregatetype text, aggregateid text, type text, payload "
      "jsonb);"
      "CREATE TABLE pointing (id uuid REFERENCES pointed);"
      "CREATE TABLE secret (LIKE pointed INCLUDING ALL); ALTER TABLE secret FORCE ROW LEVEL SECURITY;"
      "CREATE TABLE triggered (LIKE pointed INCLUDING ALL);"
      "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
      "CREATE TRIGGER outboxd_copy AFTER INSERT ON triggered FOR EACH ROW EXECUTE FUNCTION f()");
  const auto of = [](const std::string& table) { return adopt_debezium + arguments{"--table", table}; };
  struct refusal {
    arguments words;
    int status;
    std::string says;
  };
  for (const auto& [words, status, says] : std::vector<refusal>{
           {{"adopt"}, 2, "--table"},
           {{"adopt", "--table", "outboxevent"}, 2, "no column is mapped to aggregate_type"},
           {{"adopt", "--table", "outboxevent", "--preset", "debezum"}, 2, "--preset 'debezum'"},
           {of("outboxevent") + arguments{"--map", "type"}, 2, "--map 'type'"},
           {of("outboxevent") + arguments{"--map", "kind=type"}, 2, "no 'kind'"},
           {of("outboxevent") + arguments{"--header", "tenant"}, 2, "--header 'tenant'"},
           {of("outboxevent") + arguments{"--where", " "}, 2, "--where is empty"},
           {of("outboxevent") + arguments{"--where", "type = 'x'"}, 2, "NEW.column"},
           {of("outboxevent") + arguments{"--where", "NEW.nothing > 1"}, 2, "--where is no condition"},
           {of("outboxevent") + arguments{"--where", "true); DROP TABLE outboxevent; SELECT (true"}, 2,
            "--where"},
           {of("outboxevent") + arguments{"--order-by", "n"}, 2, "--backlog"},
           {of("outboxevent") + arguments{"--remove"}, 2, "--remove"},
           {of("pg_temp.a.b.c"), 1, "no name of a table"},
           {of("a b"), 1, "a b"},  // from PostgreSQL 16 on there is just no such table
           {of("missing"), 1, "there is no table missing"},
           {{"adopt", "--table", "missing", "--remove"}, 1, "there is no table missing"},
           {of("seen"), 1, "is a view"},
           {of("frozen"), 1, "is a materialized view"},
           {of("counter"), 1, "is no table"},
           {of("outbox.event"), 1, "the outbox's own"},
           {of("outbox.processed_event"), 1, "the outbox's own"},
           {of("triggered"), 1, "did not make"},
           {of("numbered"), 1, "--map id="},
           {of("bytes"), 1, "of type bytea"},
           {of("pointed"), 1, "foreign keys"},
           {of("secret"), 1, "row security"},
           {of("outboxevent") + arguments{"--map", "event_type=kind"}, 1, "no column kind"},
           {of("outboxevent") + arguments{"--header", "t=missing"}, 1, "no column missing"},
           {of("outboxevent") + arguments{"--backlog", "--order-by", "missing"}, 1, "no such column"},
           {of("outboxevent") + arguments{"--outbox-schema", "other"}, 1, "outboxd migrate"}}) {
    const auto refused = run_outboxd(words, on.variables());
    CHECK_MESSAGE(refused.exited(status), refused.text());
    CHECK_MESSAGE(refused.says(says), refused.text());
  }
  CHECK(session.number("SELECT count(*) FROM pg_proc WHERE proname LIKE 'outboxd\\_%'") == 0);
  CHECK(session.number("SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'outboxd\\_%'") == 1);
  CHECK(session.number("SELECT count(*) FROM outboxevent") == 0);
}

}  // namespace outboxd::test::adopt_refusal_test

// adopt: every way in which PostgreSQL writes a row, into every kind of table, after whatever else was done
// in the transaction: the rows that the application inserts arrive, and no others.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "adopted.hpp"

namespace outboxd::test::adopt_ways_test {
namespace {

struct kind {
  std::string name;
  std::string table;      // CREATE TABLE t (...) and its parts
  bool divided;           // an UPDATE of part moves a row
  std::string part;       // a table in which rows of t with part 1 are
  bool part_is_of_table;  // what is inserted there, is inserted into t
};

constexpr auto columns =
    "id uuid, part int NOT NULL DEFAULT 1 REFERENCES place ON UPDATE CASCADE, n int NOT NULL DEFAULT 0,"
    " aggregatetype text DEFAULT 'order', aggregateid text, type text DEFAULT 'e', payload jsonb DEFAULT "
    "'{}',"
    " PRIMARY KEY (id, part)";

std::vector<kind> kinds() {
  const auto table = fmt::format("CREATE TABLE t ({})", columns);
  return {
      {"plain", table, false, "t", true},
      {"inherited", table + "; CREATE TABLE c (LIKE t INCLUDING ALL) INHERITS (t)", false, "c", false},
      {"divided",
       table + " PARTITION BY LIST (part); CREATE TABLE t1 PARTITION OF t FOR VALUES IN (1);"
               "CREATE TABLE t2 PARTITION OF t DEFAULT",
       true, "t1", true},
      {"divided twice",
       table + " PARTITION BY LIST (part); CREATE TABLE t2 PARTITION OF t DEFAULT;"
               "CREATE TABLE t1 PARTITION OF t FOR VALUES IN (1) PARTITION BY HASH (id);"
               "CREATE TABLE t10 PARTITION OF t1 FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
       true, "t1", true},
  };
}

// The application's own triggers: they insert, or call off what is done to a row, where n says so.
constexpr auto triggers = R"(
CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  one t := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
BEGIN
  IF TG_ARGV[0] = 'insert' THEN
    INSERT INTO t (id, aggregateid) VALUES (gen_random_uuid(), one.aggregateid || '-own');
  ELSE
    RETURN NULL;
  END IF;
  RETURN one;
END $$;
CREATE TRIGGER b_update BEFORE UPDATE ON t FOR EACH ROW WHEN (NEW.n = 1) EXECUTE FUNCTION own('insert');
CREATE TRIGGER a_update AFTER UPDATE ON t FOR EACH ROW WHEN (NEW.n = 2) EXECUTE FUNCTION own('insert');
CREATE TRIGGER b_delete BEFORE DELETE ON t FOR EACH ROW WHEN (OLD.n = 3) EXECUTE FUNCTION own('insert');
CREATE TRIGGER a_delete AFTER DELETE ON t FOR EACH ROW WHEN (OLD.n = 4) EXECUTE FUNCTION own('insert');
CREATE TRIGGER b_insert BEFORE INSERT ON t FOR EACH ROW WHEN (NEW.n = 5) EXECUTE FUNCTION own('insert');
CREATE TRIGGER no_update BEFORE UPDATE ON t FOR EACH ROW WHEN (NEW.n = 11) EXECUTE FUNCTION own('never');
CREATE TRIGGER no_delete BEFORE DELETE ON t FOR EACH ROW WHEN (OLD.n = 12) EXECUTE FUNCTION own('never');
CREATE TRIGGER no_insert BEFORE INSERT ON t FOR EACH ROW WHEN (NEW.n = 13) EXECUTE FUNCTION own('never');
CREATE VIEW v AS SELECT * FROM t;
CREATE TABLE another (what text);
CREATE FUNCTION announce() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO t (id, aggregateid) VALUES (gen_random_uuid(), NEW.what);
  RETURN NULL;
END $$;
CREATE TRIGGER announce AFTER UPDATE ON another FOR EACH ROW EXECUTE FUNCTION announce();
CREATE FUNCTION add(what text) RETURNS void LANGUAGE sql AS
  'INSERT INTO t (id, aggregateid) VALUES (gen_random_uuid(), what)';
)";

// What was done before in the same transaction. {} is the key of this run, whose rows a, b and c are there.
const std::vector<std::pair<std::string, std::string>> histories{
    {"nothing", "SELECT 1"},
    {"a row has moved", "UPDATE t SET part = 2 WHERE aggregateid = '{}a'"},
    {"a move was rolled back",
     "SAVEPOINT s; UPDATE t SET part = 2 WHERE aggregateid = '{}a'; ROLLBACK TO SAVEPOINT s"},
    {"a move was called off where it inserts", "UPDATE t SET part = 2, n = 13 WHERE aggregateid = '{}a'"},
    {"a move was called off where it deletes",
     "UPDATE t SET n = 12 WHERE aggregateid = '{0}a'; UPDATE t SET part = 2 WHERE aggregateid = '{0}a'"},
    {"an update was called off, and the row deleted",
     "UPDATE t SET part = 2, n = 11 WHERE aggregateid = '{0}a'; DELETE FROM t WHERE aggregateid = '{0}a'"},
    {"a row was inserted once more",
     "INSERT INTO t (id, aggregateid) SELECT id, aggregateid FROM t WHERE aggregateid = '{}a'"
     " ON CONFLICT (id, part) DO UPDATE SET n = 0"}};

struct way {
  std::string name;
  std::string sql;
  std::vector<std::string> inserts;  // what it inserts, after the key
  int since = 0;                     // version of the server
};

std::vector<way> ways(const kind& of) {
  const std::string insert = "INSERT INTO t (id, aggregateid) ";
  const std::string one = insert + "VALUES (gen_random_uuid(), '{0}1')";
  const std::string again = insert + "SELECT id, aggregateid FROM t WHERE aggregateid = '{0}b'";
  const std::string move = "UPDATE t SET part = 2 WHERE aggregateid = '{0}b'";
  const auto updated = [](int n, int part) {
    return fmt::format("UPDATE t SET n = {}, part = {} WHERE aggregateid = '{{0}}b'", n, part);
  };
  const std::vector<std::string> none;
  // A row that has moved was deleted and inserted; on a table that is not divided it was updated.
  const auto if_divided = [&](std::vector<std::string> then, std::vector<std::string> otherwise) {
    return of.divided ? std::move(then) : std::move(otherwise);
  };
  return {
      {"INSERT", one, {"1"}},
      {"INSERT of several",
       insert + "SELECT gen_random_uuid(), '{0}' || n FROM generate_series(1, 3) AS n",
       {"1", "2", "3"}},
      {"INSERT that is called off",
       "INSERT INTO t (id, aggregateid, n) VALUES (gen_random_uuid(), '{0}1', 13)", none},
      {"INSERT whose trigger inserts",
       "INSERT INTO t (id, aggregateid, n) VALUES (gen_random_uuid(), '{0}1', 5)",
       {"1", "1-own"}},
      {"COPY", "COPY {0}1", {"1", "2"}},
      {"INSERT right into a part",
       fmt::format("INSERT INTO {} (id, aggregateid) VALUES (gen_random_uuid(), '{{0}}1')", of.part),
       of.part_is_of_table ? std::vector<std::string>{"1"} : none},
      {"a view",
       "INSERT INTO v (id, part, n, aggregatetype, aggregateid, type, payload) VALUES"
       " (gen_random_uuid(), 1, 0, 'order', '{0}1', 'e', '{{}}')",
       {"1"}},
      {"a function", "SELECT add('{0}1')", {"1"}},
      {"a function for each row that is read",
       "SELECT add('{0}' || n) FROM generate_series(1, 2) AS n",
       {"1", "2"}},
      {"a block that fails",
       "DO $$ BEGIN BEGIN " + move + "; " + one +
           "; RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN END; "
           "PERFORM add('{0}2'); END $$",
       {"2"}},
      {"ON CONFLICT DO NOTHING, which does nothing", again + " ON CONFLICT DO NOTHING", none},
      {"ON CONFLICT DO NOTHING, which inserts one of two",
       again + " UNION ALL SELECT gen_random_uuid(), '{0}1' ON CONFLICT DO NOTHING",
       {"1"}},
      {"ON CONFLICT DO UPDATE of one, and inserts another",
       again + " UNION ALL SELECT gen_random_uuid(), '{0}1' ON CONFLICT (id, part) DO UPDATE SET n = 6",
       {"1"}},
      {"ON CONFLICT DO UPDATE whose trigger inserts",
       again + " ON CONFLICT (id, part) DO UPDATE SET n = 2",
       {"b-own"}},
      {"an UPDATE that moves", move, none},
      {"rows that move there and back",
       "UPDATE t SET part = 3 - part WHERE aggregateid IN ('{0}b', '{0}c');"
       " UPDATE t SET part = 3 - part WHERE aggregateid IN ('{0}b', '{0}c'); " +
           one,
       {"1"}},
      {"WITH an UPDATE that moves, and INSERT",
       "WITH moved AS (" + move + " RETURNING id) " + insert + "SELECT gen_random_uuid(), '{0}1' FROM moved",
       {"1"}},
      {"WITH an UPDATE of many, and INSERT of each",
       "WITH moved AS (UPDATE t SET part = 2 WHERE aggregateid IN ('{0}b', '{0}c') RETURNING aggregateid) " +
           insert + "SELECT gen_random_uuid(), aggregateid || '1' FROM moved",
       {"b1", "c1"}},
      {"WITH a DELETE, and INSERT of the same",
       "WITH gone AS (DELETE FROM t WHERE aggregateid = '{0}b' RETURNING id) "
       "INSERT INTO t (id, part, aggregateid) SELECT id, 2, '{0}1' FROM gone",
       {"1"}},
      {"WITH an INSERT, and another",
       "WITH first AS (" + one + " RETURNING 1) " + insert + "SELECT gen_random_uuid(), '{0}2' FROM first",
       {"1", "2"}},
      {"MERGE that inserts",
       "MERGE INTO t USING (VALUES ('{0}1')) AS s (k) ON t.aggregateid = s.k"
       " WHEN NOT MATCHED THEN INSERT (id, aggregateid) VALUES (gen_random_uuid(), s.k)",
       {"1"},
       15},
      {"MERGE that moves one, and inserts another",
       "MERGE INTO t USING (VALUES ('{0}b'), ('{0}1'), ('{0}c'), ('{0}2')) AS s (k) ON t.aggregateid = s.k"
       " WHEN MATCHED THEN UPDATE SET part = 2"
       " WHEN NOT MATCHED THEN INSERT (id, aggregateid) VALUES (gen_random_uuid(), s.k)",
       {"1", "2"},
       15},
      {"MERGE that deletes one, and inserts another",
       "MERGE INTO t USING (VALUES ('{0}b'), ('{0}1')) AS s (k) ON t.aggregateid = s.k WHEN MATCHED THEN "
       "DELETE"
       " WHEN NOT MATCHED THEN INSERT (id, aggregateid) VALUES (gen_random_uuid(), s.k)",
       {"1"},
       15},
      {"a trigger BEFORE UPDATE", updated(1, 1), {"b-own"}},
      {"a trigger BEFORE UPDATE of a row that moves", updated(1, 2), {"b-own"}},
      {"a trigger AFTER UPDATE", updated(2, 1), {"b-own"}},
      {"a trigger BEFORE DELETE of a row that moves", updated(3, 1) + "; " + move,
       if_divided({"b-own"}, none)},
      {"a trigger AFTER DELETE of a row that moves", updated(4, 1) + "; " + move,
       if_divided({"b-own"}, none)},
      {"a trigger BEFORE INSERT of a row that moves", updated(5, 2), if_divided({"b-own"}, none)},
      {"a trigger of another table's UPDATE",
       "INSERT INTO another VALUES (''); UPDATE another SET what = '{0}1'; DELETE FROM another",
       {"1"}},
      {"a foreign key that moves rows",
       "UPDATE place SET part = 4 WHERE part = 1; INSERT INTO place VALUES (1)", none},
      {"session_replication_role = replica",
       "SET LOCAL session_replication_role = replica; " + one +
           "; SET LOCAL session_replication_role = origin; " + insert + "VALUES (gen_random_uuid(), '{0}2')",
       {"2"}},
  };
}

void write(database& session, const std::string& sql, const std::string& key) {
  const auto text = fmt::format(fmt::runtime(sql), key);
  if (!text.starts_with("COPY ")) {
    session.exec(text);
    return;
  }
  const auto lines = fmt::format("{0}\t{1}1\n{2}\t{1}2\n", session.value("SELECT gen_random_uuid()"), key,
                                 session.value("SELECT gen_random_uuid()"));
  PQclear(PQexec(session.handle(), "COPY t (id, aggregateid) FROM STDIN"));
  REQUIRE(PQputCopyData(session.handle(), lines.data(), static_cast<int>(lines.size())) == 1);
  REQUIRE(PQputCopyEnd(session.handle(), nullptr) == 1);
  while (auto* const answer = PQgetResult(session.handle())) PQclear(answer);
}

std::string listed(std::vector<std::string> all) {
  std::sort(all.begin(), all.end());
  return fmt::format("{}", fmt::join(all, ","));
}

}  // namespace

TEST_CASE("adopt: what the application inserts arrives, however it is written, and nothing else does") {
  const stage on;
  auto session = on.connect();
  const auto version = session.number("SELECT current_setting('server_version_num')::int / 10000");
  int runs = 0;
  for (const kind& of : kinds()) {
    session.exec(
        "DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE TABLE place (part int PRIMARY KEY);"
        "INSERT INTO place VALUES (1), (2)");
    session.exec(of.table);
    session.exec(triggers);
    for (const bool keeps : {false, true}) {
      // The outbox makes the ids: a row may come again with the key of one that is gone.
      const arguments words = adopt_debezium + arguments{"--table", "t", "--map", "id=", "--unfit", "skip"};
      adopt(on, keeps ? words + arguments{"--keep"} : words);
      for (const auto& [past, history] : histories) {
        for (const way& how : ways(of)) {
          if (version < how.since) continue;
          CAPTURE(of.name);
          CAPTURE(keeps);
          CAPTURE(past);
          CAPTURE(how.name);
          const auto key = fmt::format("k{}-", ++runs);
          std::vector<std::string> truth{key + "a", key + "b", key + "c"};
          for (const auto& one : how.inserts) truth.push_back(key + one);
          const bool moves_all = how.name.starts_with("a foreign key");
          if (moves_all) session.exec("TRUNCATE t");
          session.exec("BEGIN");
          write(session,
                "INSERT INTO t (id, aggregateid) SELECT gen_random_uuid(), '{}' || n FROM"
                " unnest(array['a', 'b', 'c']) AS n",
                key);
          write(session, history, key);
          write(session, how.sql, key);
          session.exec("COMMIT");
          CHECK(
              session.value("WITH all_of AS (DELETE FROM outbox.event RETURNING aggregate_id)"
                            " SELECT string_agg(aggregate_id, ',' ORDER BY aggregate_id COLLATE \"C\") FROM "
                            "all_of") == listed(truth));
          if (moves_all) session.exec("TRUNCATE t; DELETE FROM place WHERE part = 4");
        }
        session.exec("TRUNCATE t");
      }
    }
  }
  CHECK(runs >= 200);
  MESSAGE(runs, " runs");
}

}  // namespace outboxd::test::adopt_ways_test

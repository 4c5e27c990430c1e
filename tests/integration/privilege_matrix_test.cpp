// The privilege matrix, tried on the server: each role does what it may, and is refused (42501) what it may
// not.
#include "privilege_matrix.hpp"

#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "login.hpp"
#include "stage.hpp"

namespace outboxd::test::privilege_matrix_test {
namespace {

constexpr std::string_view insufficient_privilege = "42501";

/// An outbox with an event of each kind, and a user of each role.
class tryout {
 public:
  tryout() {
    const auto add = [&](const std::string& status) {
      return admin_.value(
          "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, exception,"
          " published_at) VALUES ('order', '1', 'created', '{}', $1::outbox.event_status,"
          " CASE $1 WHEN 'dead' THEN 'dead' END::outbox.event_exception,"
          " CASE $1 WHEN 'published' THEN now() END) RETURNING quote_literal(id) || "
          "'::uuid'",
          {status});
    };
    add("pending");
    dead_ = add("dead");
    published_ = add("published");
    admin_.exec("SELECT outbox.dead_discard(ARRAY[" + add("dead") + "])");
    admin_.exec("SELECT outbox.pause('{order}')");
    admin_.exec("SELECT outbox.first_time('c', gen_random_uuid())");
    for (const auto& [letter, role] : std::initializer_list<std::pair<char, std::string>>{
             {'w', "outbox_writer"}, {'r', "outbox_relay"}, {'o', "outbox_operator"}, {'n', ""}})
      everybody_.push_back(std::make_unique<person>(on_, letter, role));
  }

  /// `sql` as each of them, rolled back each time. Where it is allowed it has to return a row that is no
  /// NULL.
  void attempt(std::string_view what, const std::string& sql, who may) const {
    for (const auto& one : everybody_) {
      const bool allowed = may.find(one->letter) != who::npos;
      const auto came = outcome(one->session, sql);
      CHECK_MESSAGE(came == (allowed ? "done" : insufficient_privilege), std::string(1, one->letter), ", ",
                    what, ": ", sql, ": ", came);
    }
  }
  void attempt(const action& what) const {
    attempt(what.name,
            fmt::format(fmt::runtime(what.sql), fmt::arg("dead", dead_), fmt::arg("published", published_),
                        fmt::arg("admin", admin_.backend_pid())),
            what.may);
  }

  bool is_partitioned() {
    return admin_.value("SELECT relkind FROM pg_class WHERE oid = 'outbox.event'::regclass") == "p";
  }

  /// The names that a query on the catalog finds, in order.
  std::string names(const std::string& sql) {
    std::vector<std::string> out;
    for (const auto& row : admin_.exec(sql)) out.push_back(row.at(0).value());
    return fmt::format("{}", fmt::join(out, ", "));
  }

 private:
  struct person {
    person(const stage& on, char who_it_is, const std::string& role)
        : letter{who_it_is}, user{role}, session{user.url(on)} {}
    char letter;
    login user;
    database session;
  };

  static std::string outcome(database& session, const std::string& sql) {
    std::string out = "nothing";
    session.exec("BEGIN");
    try {
      const auto rows = session.exec(sql);
      if (!rows.empty() && rows.front().front().has_value()) out = "done";
    } catch (const database_error& error) {
      out = error.sqlstate;
    }
    session.exec("ROLLBACK");
    return out;
  }

  stage on_;
  mutable database admin_ = on_.connect();
  std::string dead_, published_;
  std::vector<std::unique_ptr<person>> everybody_;
};

template <class Row>
std::string names_of(const std::vector<Row>& rows, std::vector<std::string_view> more = {}) {
  for (const Row& one : rows) more.push_back(one.name);
  std::sort(more.begin(), more.end());
  return fmt::format("{}", fmt::join(more, ", "));
}

constexpr auto in_outbox = "'outbox'::regnamespace";

}  // namespace

TEST_CASE(
    "privileges: each column of event is inserted, changed and read by whom it may be and nobody else") {
  tryout at;
  CHECK(names_of(event_columns) ==
        at.names("SELECT attname COLLATE \"C\" FROM pg_attribute WHERE attrelid = 'outbox.event'::regclass"
                 " AND attnum > 0 AND NOT attisdropped ORDER BY 1"));
  const std::vector<std::string_view> needed{"aggregate_type", "aggregate_id", "event_type", "payload"};
  for (const auto& column : event_columns) {
    const bool more = std::find(needed.begin(), needed.end(), column.name) == needed.end();
    at.attempt(
        column.name,
        fmt::format("INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload{}{})"
                    " VALUES ('order', '1', 'created', '{{}}'{}{}) RETURNING 1",
                    more ? ", " : "", more ? column.name : "", more ? ", " : "", more ? column.value : ""),
        column.inserts);
    at.attempt(column.name,
               fmt::format("UPDATE outbox.event SET {} = {} RETURNING 1", column.name, column.value),
               column.updates);
    at.attempt(column.name, fmt::format("SELECT 1 FROM outbox.event WHERE {0} IS NULL OR true", column.name),
               column.reads);
  }
}

TEST_CASE("privileges: each table and sequence is open to whom it should be and nobody else") {
  tryout at;
  CHECK(names_of(relations, sequences) ==
        at.names(fmt::format(
            "SELECT relname COLLATE \"C\" FROM pg_class WHERE relnamespace = {} AND NOT relispartition"
            " AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S') ORDER BY 1",
            in_outbox)));
  for (const auto& one : relations) {
    at.attempt("reads", fmt::format("SELECT count(t) FROM outbox.{} AS t", one.name), one.reads);
    at.attempt("adds", fmt::format("INSERT INTO outbox.{} {} RETURNING 1", one.name, one.insert),
               one.inserts);
    at.attempt("changes", fmt::format("UPDATE outbox.{} SET {} RETURNING 1", one.name, one.set), one.updates);
    at.attempt("deletes", fmt::format("DELETE FROM outbox.{} RETURNING 1", one.name), one.deletes);
    at.attempt("empties", fmt::format("TRUNCATE outbox.{} CASCADE", one.name), "");
  }
  for (const auto& name : sequences)
    for (const char* sql : {"SELECT nextval('outbox.{}')", "SELECT setval('outbox.{}', 1)",
                            "SELECT currval('outbox.{}')", "SELECT last_value FROM outbox.{}"})
      at.attempt(name, fmt::format(fmt::runtime(sql), name), "");
}

TEST_CASE("privileges: each function is for whom it is made and nobody else") {
  tryout at;
  CHECK(names_of(functions) ==
        at.names(fmt::format("SELECT proname COLLATE \"C\" FROM pg_proc WHERE pronamespace = {} ORDER BY 1",
                             in_outbox)));
  for (const auto& one : functions) at.attempt(one);
}

TEST_CASE("privileges: no role goes round the rules of the outbox") {
  tryout at;
  for (const auto& one : others) at.attempt(one);
  if (!at.is_partitioned())
    for (const auto& one : upserts) at.attempt(one);
}

TEST_CASE(
    "privileges: PUBLIC has none in the outbox, and no function with its owner's rights lacks a "
    "search_path") {
  tryout at;
  const auto found = at.names(fmt::format(
      "WITH acls AS ("
      " SELECT 'schema' AS what, coalesce(nspacl, acldefault('n', nspowner)) AS acl FROM pg_namespace WHERE "
      "oid = {0}"
      " UNION ALL SELECT relname, coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r' "
      "END::\"char\", relowner))"
      "  FROM pg_class WHERE relnamespace = {0} AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S')"
      " UNION ALL SELECT c.relname || '.' || a.attname, a.attacl FROM pg_attribute AS a JOIN pg_class AS c"
      "  ON c.oid = a.attrelid WHERE c.relnamespace = {0} AND a.attacl IS NOT NULL"
      " UNION ALL SELECT proname, coalesce(proacl, acldefault('f', proowner)) FROM pg_proc WHERE "
      "pronamespace = {0})"
      " SELECT what FROM acls, LATERAL aclexplode(acl) AS x WHERE x.grantee = 0"
      " UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = {0} AND prosecdef"
      "  AND NOT coalesce(proconfig @> ARRAY['search_path=pg_catalog, pg_temp'], false)",
      in_outbox));
  CHECK(found == "");
}

}  // namespace outboxd::test::privilege_matrix_test

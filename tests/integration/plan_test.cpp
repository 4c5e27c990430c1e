// The plans of the relay's statements: always through the right index, whatever the table and its statistics
// look like.
#include <doctest/doctest.h>

#include <algorithm>
#include <regex>

#include "partitioned.hpp"
#include "stage.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::test::plan_test {
namespace {

const auto schema = *pg::schema_name::parse("outbox");

// What src/relay/database_session.cpp sets of what the planner looks at, on a server to which parallel
// workers cost nothing, as on a large table.
void prepare_planner(database& session) {
  session.exec(
      "SET search_path = pg_catalog, pg_temp; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;"
      "SET min_parallel_index_scan_size = 0; SET min_parallel_table_scan_size = 0;"
      "SET max_parallel_workers_per_gather = 4");
  session.exec(fmt::format("SELECT {}", store::planner_settings));
}

/// What the function prune_places deletes with, with parameters for its variables.
std::string deletion_of_prune(database& session) {
  return session.value(
      R"(SELECT regexp_replace(regexp_replace(replace(substring(p.prosrc FROM 'WITH found[^;]*'),
           'older_than', '$3::timestamptz'), 'places\[[^]]*\]', '$1::tid[]'), 'seqs\[[^]]*\]', '$2::bigint[]')
         FROM pg_proc AS p WHERE p.oid = 'outbox.prune_places'::regproc)");
}

/// A relay's session with its prepared statements.
class planner {
 public:
  planner(const stage& on, store::after_publish then) : session_(on.connect()) {
    prepare_planner(session_);
    for (const auto& one : store::relay_statements(schema, payload_type::jsonb, then))
      session_.exec(fmt::format("PREPARE {} AS {}", one.name, one.sql));
    session_.exec("PREPARE prune_places AS " + deletion_of_prune(session_));
  }

  std::string plan(std::string_view statement, const std::string& parameters) {
    std::string out;
    for (const auto& row : session_.exec(fmt::format("EXPLAIN EXECUTE {}({})", statement, parameters)))
      out += row[0].value_or("") + "\n";
    // PostgreSQL 17 shows the two sides of this condition the other way round.
    static const std::regex turned(R"(\((k(_\d+)?\.place) = ctid\))");
    // PostgreSQL 16 shows the order within an aggregate as a node below it; the others sort there, too.
    static const std::regex of_aggregate(R"(->  Sort  \([^\n]*\n *Sort Key: k\.seq\n)");
    return std::regex_replace(std::regex_replace(out, turned, "(ctid = $1)"), of_aggregate, "");
  }

 private:
  database session_;
};

struct expected {
  std::string_view statement;
  const char* parameters;
  std::vector<const char*> wanted;
  int event_scans;  // all looks into the table, each of them through one of these
};

// Through the index on id or through that on seq: each finds one row.
constexpr const char* by_key = "Index Scan using event_";

// No plan reads the table from end to end, and none sorts the stream.
const std::vector<expected> plans{
    {store::statement::read,
     "1000, 0, 0, 5, '{4}', '7', '20000', 20000, 1500, true, '{}'",
     {"Index Scan using event_tx on event e_", "Index Cond: (tx = ANY (",
      "Index Only Scan using event_tx on event e_", "Index Cond: ((tx >= $6) AND (tx < ",
      "Index Cond: ((seq > $4) AND (seq <= $8))", "using event_order", "using event_due", "using event_held",
      "Tid Scan on event e", "TID Cond: (ctid = k.place)"},
     8},
    {store::statement::walk, "0, 0, 0, 5, '{}'", {"using event_order", "Index Cond: (seq > $4)"}, 1},
    {store::statement::due,
     "1000, 0, 0, '-infinity', 0, 1500",
     {"using event_due", "Index Cond: ((available_at <= ", "ROW(available_at, seq) > ROW($4, $5)",
      "Index Cond: (@hash@ = f.hash)",
      "Index Cond: ((@hash@ = f.hash) AND (exception >= 'parked'::outbox.event_exception))"},
     4},
    {store::statement::laggards,
     "1000, 0, 0, '{1}', '{5}', 20000, 500",
     {"using event_order", "Index Cond: ((seq > a_2.after) AND (seq <= a_2.upto))",
      "Index Cond: (seq > a.upto)", "Tid Scan on event e", "TID Cond: (ctid = k"},
     3},
    {store::statement::released,
     "1000, 0, 0, '{1}', 500",
     {"using event_held", "Index Cond: (@hash@ = a_2.hash)",
      "Index Cond: ((@hash@ = a.hash) AND (exception >= 'parked'::outbox.event_exception))",
      "Index Cond: ((@hash@ = a_1.hash) AND (exception >= 'parked'::outbox.event_exception))"},
     3},
    {store::statement::held,
     "0",
     {"using event_held", "Index Cond: (@hash@ > $1)", "Index Cond: (@hash@ = p.hash)"},
     2},  // EXPLAIN does not show what a recursive part looks up
    {store::statement::dead,
     "1000, 0, 0, 5",
     {"using event_dead", "Index Cond: (ROW(exception, seq) > ROW('dead'::outbox.event_exception, $4))"},
     1},
    {store::statement::waiting,
     "1000, 0, 0, '{1}', '{0}', '{10}'",
     {"using event_waits on event e", "(ROW(waits_for, seq) > ROW(a.destination, a.after))",
      "(waits_for <= a.destination)", "Tid Scan on event e", "TID Cond: (ctid = k.place)"},
     4},
    {store::statement::waits,
     "1000, 0, 0, 0, 0, 86400000, true",
     {"using event_waits on event e", "Index Cond: (ROW(waits_for, seq) > ROW($4, $5))",
      "Tid Scan on event e", "TID Cond: (ctid = k.place)", "TID Cond: (ctid = k_1.place)"},
     3},
    {store::statement::by_key, "1000, 0, 0, '{}', '{}', '{}', 1000", {"Function Scan on k", by_key}, 1},
    {store::statement::by_key_measured,
     "1000, 0, 0, '{}', '{}', '{}', 1000",
     {"Function Scan on k", by_key, "Function Scan on jsonb_array_elements n"},
     1},
    {store::statement::unsettled,
     "1000, 0, 0, '{}'",
     {"using event_order", "Index Cond: (seq = ANY ($4))"},
     1},
    {store::statement::mark,
     "'{}', '{}', '{}', '{}', 0, 0",
     {"Tid Scan on event e", "TID Cond: (ctid = k.place)"},
     1},
    {store::statement::look,
     "'{}', '{}', '{}', '{}', '{}'",
     {"Tid Scan on event e", "TID Cond: (ctid = k.place)"},
     1},
    {store::statement::mark_by_key, "'{}', '{}', '{}', '{}', '{}'", {"Tid Scan on event e", by_key}, 2},
    {store::statement::prune,
     "0, 1000, 500, 9",
     {"using event_order", "Index Cond: ((seq > $1) AND (seq < $4))", "Function Scan on prune_places"},
     1},
    {"prune_places", "'{}', '{}', now()", {"Tid Scan on event e", "Tid Scan on event e_1"}, 2},
    {store::statement::unfinished, "'{}', '{}', '{}'", {"Function Scan on k", by_key}, 1},
    {store::statement::record,
     "'{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'",
     {"Function Scan on k", by_key, "Tid Scan on event e"},
     2},
};

int occurrences(const std::string& text, std::string_view part) {
  int out = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++out;
  return out;
}

bool goes_by_key(const expected& one) {
  return std::find(one.wanted.begin(), one.wanted.end(), std::string_view{by_key}) != one.wanted.end();
}

// An index is asked for the key, and not read from end to end.
bool has_key_condition(const std::string& plan) {
  return plan.find("Index Cond: (seq = k") != std::string::npos ||
         plan.find("Index Cond: (id = k") != std::string::npos;
}

// EXPLAIN shows the expression of event_held.
std::string as_shown(std::string condition) {
  constexpr std::string_view word = "@hash@";
  constexpr std::string_view hash =
      "hashtextextended((aggregate_id)::text, hashtextextended((aggregate_type)::text, '0'::bigint))";
  if (const auto at = condition.find(word); at != std::string::npos) condition.replace(at, word.size(), hash);
  return condition;
}

void check_plan(const std::string& plan, const expected& one) {
  CAPTURE(one.statement);
  CAPTURE(plan);
  for (const char* word : one.wanted) CHECK_MESSAGE(plan.find(as_shown(word)) != std::string::npos, word);
  for (const char* word : {"Seq Scan", "Sort", "Bitmap", "Materialize", "Hash Join", "Merge", "Gather"})
    CHECK_MESSAGE(plan.find(word) == std::string::npos, word);
  CHECK(has_key_condition(plan) == goes_by_key(one));
  CHECK(occurrences(plan, " using event_") + occurrences(plan, "Tid Scan on event") == one.event_scans);
}

void check_all(const stage& on) {
  for (const auto then : {store::after_publish::keep, store::after_publish::remove}) {
    planner now{on, then};
    for (const auto& one : plans) check_plan(now.plan(one.statement, one.parameters), one);
  }
}

}  // namespace

TEST_CASE("the plans are the same on an empty, a full and a bloated table, with statistics and without") {
  const unpartitioned_stage on;
  auto session = on.connect();
  session.exec("ALTER TABLE outbox.event SET (autovacuum_enabled = off)");
  check_all(on);
  session.exec("ANALYZE outbox.event");
  check_all(on);

  on.add_events(20, 1000);
  check_all(on);  // the statistics say that it is empty
  session.exec("ANALYZE outbox.event");
  check_all(on);

  session.exec("UPDATE outbox.event SET status = 'published', published_at = now() WHERE seq % 100 > 0");
  check_all(on);
  session.exec("ANALYZE outbox.event");
  check_all(on);
  session.exec(
      "UPDATE outbox.event SET status = 'waiting', exception = 'scheduled', available_at = now() + interval "
      "'1 day'"
      " WHERE status = 'pending' AND seq % 200 = 0");
  session.exec("UPDATE outbox.event SET status = 'waiting', exception = 'parked' WHERE status = 'pending'");
  check_all(on);
  session.exec("ANALYZE outbox.event");
  check_all(on);
  session.exec("DELETE FROM outbox.event");
  check_all(on);
  session.exec("VACUUM ANALYZE outbox.event");
  check_all(on);
}

TEST_CASE(
    "of a partitioned outbox every statement goes through the indexes of partitions, whatever is in them") {
  const partitioned_stage on;
  auto session = on.connect();
  const auto check = [&] {
    for (const auto then : {store::after_publish::keep, store::after_publish::remove}) {
      planner now{on, then};
      for (const auto& one : plans) {
        const auto plan = now.plan(one.statement, one.parameters);
        CAPTURE(one.statement);
        CAPTURE(plan);
        for (const char* word : {"Seq Scan", "Bitmap", "Materialize", "Hash Join", "Merge Join", "Gather"})
          CHECK_MESSAGE(plan.find(word) == std::string::npos, word);
        const bool by_place = std::any_of(one.wanted.begin(), one.wanted.end(),
                                          [](std::string_view word) { return word.starts_with("Tid Scan"); });
        CHECK((plan.find("Tid Scan on event_p0") != std::string::npos) == by_place);
        CHECK(has_key_condition(plan) == goes_by_key(one));
      }
    }
  };
  check();
  session.exec("VACUUM ANALYZE outbox.event");
  check();
  on.add_events(20, 500);
  check();
  rotate_partition(session);
  session.exec("ANALYZE outbox.event");
  check();
  session.exec("UPDATE outbox.event SET status = 'waiting', exception = 'backing_off'");
  check();
  session.exec("VACUUM ANALYZE outbox.event");
  check();
}

TEST_CASE("a sample of the table reads nothing below the saved position but what is named there") {
  const unpartitioned_stage on;
  on.connect().exec("ALTER TABLE outbox.event SET (autovacuum_enabled = off)");
  planner now{on, store::after_publish::keep};
  const auto check = [&] {
    const auto plan = now.plan(store::statement::sample, "100000");
    CAPTURE(plan);
    CHECK(plan.find("Index Cond: (seq > ") != std::string::npos);
    CHECK(plan.find("Index Cond: (seq <= ") == std::string::npos);
    CHECK(plan.find("Index Cond: (seq = ANY (") != std::string::npos);
    CHECK(plan.find("Seq Scan on event") == std::string::npos);
  };
  check();
  on.add_events(20, 1000);
  on.connect().exec("ANALYZE outbox.event");
  check();
  on.connect().exec("UPDATE outbox.event SET status = 'published', published_at = now()");
  on.connect().exec("VACUUM ANALYZE outbox.event");
  check();
}

TEST_CASE("a mark is a HOT update, which touches no index") {
  const unpartitioned_stage on;
  auto session = on.connect();
  session.exec("ALTER TABLE outbox.event SET (autovacuum_enabled = off)");
  on.add_events(10, 100);
  relay running{on};
  on.await_drained();
  CHECK(on.count("published") == 1000);
  running.stop();
  eventually("the sessions are closed", [&] { return on.relay_sessions() == 0; });
  const auto updates =
      session.exec("SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'event'");
  CHECK(updates[0][0] == "1000");
  CHECK(updates[0][1] == "1000");
}

TEST_CASE("a row that has moved since it was read is marked by its id") {
  const unpartitioned_stage on;
  relay running{on};
  running.await_connected();
  auto session = on.connect();
  for (int i = 0; i < 20; ++i) {
    on.add_events(50, 4);
    session.exec("UPDATE outbox.event SET headers = '{\"moved\": true}' WHERE status = 'pending'");
  }
  on.await_drained();
  CHECK(on.count("published") == 20 * 200);
  running.stop();
}

TEST_CASE("the lead that is not wanted is not locked either") {
  const unpartitioned_stage on;
  REQUIRE(run_outboxd({"migrate", "--shards", "4"}, on.variables()).exited(0));
  auto session = on.connect();
  prepare_planner(session);
  for (const auto& one : store::relay_statements(schema, payload_type::jsonb, store::after_publish::keep))
    if (one.name == store::statement::lead) session.exec(fmt::format("PREPARE lead AS {}", one.sql));
  CHECK(session.number("EXECUTE lead(4711, '{0,1,3}')") == 2);
  CHECK(session.exec("SELECT objid FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()") ==
        result_rows{{"2"}});
  CHECK(session.exec("EXECUTE lead(4711, '{0,1,2,3}')").empty());
  CHECK(session.number(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()") == 1);
}

}  // namespace outboxd::test::plan_test

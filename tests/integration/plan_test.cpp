// The plans of the relay's statements: always through the right index, whatever the table and its statistics look like.
#include <doctest/doctest.h>

#include <algorithm>

#include "pg/outbox_statements.hpp"
#include "stage.hpp"

namespace outboxd::test {
namespace {

const auto schema = *pg::schema_name::parse("outbox");

/// A lane's session with its prepared statements.
class planner {
 public:
  planner(const stage& on, pg::after_publish then) : session_(on.connect()) {
    session_.exec(pg::session_settings(30s));
    for (const auto& one : pg::lane_statements(schema, 30s, then))
      if (one.sql.starts_with("SELECT") ||
          one.sql.starts_with("UPDATE"))  // BEGIN and its kind cannot be prepared in SQL
        session_.exec(fmt::format("PREPARE {} AS {}", one.name, one.sql));
    for (const char* one : {"shards', '{}'", "starts', '{}'", "first', ''"})  // as take_shards does
      session_.exec(fmt::format("SELECT set_config('outboxd.{}, false)", one));
  }

  /// A claim in bulk is planned with the settings that come before it.
  std::string plan_in_bulk() {
    session_.exec(fmt::format("BEGIN; EXECUTE {}", pg::statement::bulk_plan));
    const auto out = plan(pg::statement::claim_in_bulk, "1000, 8000");
    session_.exec("ROLLBACK");
    return out;
  }

  std::string plan(std::string_view statement, const std::string& parameters) {
    std::string out;
    for (const auto& row : session_.exec(fmt::format("EXPLAIN EXECUTE {}({})", statement, parameters)))
      out += row[0].value_or("") + "\n";
    return out;
  }

 private:
  database session_;
};

struct expected {
  std::string_view statement;
  const char* parameters;
  std::vector<const char*> wanted;
  std::vector<const char*> unwanted;
};

// No plan reads the table from end to end, and none sorts or copies what is claimed.
const std::vector<expected> plans{
    {pg::statement::claim,
     "1000, 8000",
     {"Index Scan using event_order", "using event_waiting", "using event_returned", "using event_behind"},
     {"Seq Scan", "Sort", "Bitmap", "Function Scan on claimed", "hashed SubPlan", "Materialize",
      "Merge Append", "WindowAgg"}},
    {pg::statement::claim_within,
     "1000, 8000000",
     {"WindowAgg", "Index Scan using event_order", "using event_waiting", "using event_returned",
      "using event_behind"},
     {"Seq Scan", "Sort", "Bitmap", "Function Scan on claimed", "hashed SubPlan", "Materialize",
      "Merge Append"}},
    {pg::statement::set_back,
     "'{}', '{}', '{}', '{}', '{}', '{}', '{}'",
     {"Index Scan using event_pkey"},
     {"Seq Scan"}},
    {pg::statement::release, "'{}'", {"using event_behind", "Tid Scan on event"}, {"Seq Scan"}},
};

// What auto_explain says of the statements inside the functions, as they run.
class explained_calls {
 public:
  explicit explained_calls(const stage& on) : session_(on.connect()) {
    session_.exec(pg::session_settings(30s));
    session_.exec("LOAD 'auto_explain'");
    session_.exec("SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on");
    PQsetNoticeProcessor(
        session_.handle(),
        [](void* to, const char* text) { static_cast<explained_calls*>(to)->said_ += text; }, this);
    session_.exec("SET client_min_messages = log");
  }
  explained_calls(const explained_calls&) = delete;
  explained_calls& operator=(const explained_calls&) = delete;

  std::string plans_of(const std::string& call) {
    said_.clear();
    session_.exec("BEGIN; SELECT " + call + "; ROLLBACK");
    return said_;
  }

 private:
  database session_;
  std::string said_;
};

void check_words(const std::string& plan, const std::vector<const char*>& wanted,
                 const std::vector<const char*>& unwanted) {
  CAPTURE(plan);
  for (const char* word : wanted) CHECK_MESSAGE(plan.find(word) != std::string::npos, word);
  for (const char* word : unwanted) CHECK_MESSAGE(plan.find(word) == std::string::npos, word);
}

void check_plans(const stage& on, pg::after_publish then) {
  planner now{on, then};
  check_words(now.plan_in_bulk(),
              {"Bitmap Heap Scan on event n", "Bitmap Index Scan on event_order",
               "Index Cond: ((shard = ANY (", " AND (seq >= (", " AND (seq < LEAST("},
              {"Seq Scan", "Sort", "Function Scan on claimed", "Materialize", "event_young"});
  for (const auto& one : plans)
    check_words(now.plan(one.statement, one.parameters), one.wanted, one.unwanted);
}

void check_functions(const stage& on, bool they_write = false) {
  explained_calls now{on};
  const std::vector<const char*> whole_table{"Seq Scan on event e", "Seq Scan on event w",
                                             "Seq Scan on event p", "Seq Scan on event r",
                                             "Seq Scan on event n", "Bitmap"};
  const std::string floors = "array_fill(0::bigint, ARRAY[64])";
  check_words(now.plans_of("outbox.take_shards(16)"), {"using event_order", "using event_returned"},
              whole_table);
  check_words(
      now.plans_of("outbox.take_shards(16, " + floors + ", 0, (SELECT last_value FROM outbox.event_seq))"),
      {"using event_young"}, whole_table);
  check_words(now.plans_of("outbox.claim_few(32, 1000, " + floors + ", 0, 0)"),
              {"Index Scan using event_young"}, {"Seq Scan on event", "Bitmap", "Sort"});
  check_words(now.plans_of("set_config('enable_indexscan', 'off', true), outbox.nothing_aside()"),
              {"using event_waiting", "using event_returned", "using event_behind"}, whole_table);
  for (const char* mark : {"outbox.mark_published", "outbox.delete_published"})
    check_words(now.plans_of(fmt::format("{}(ARRAY[gen_random_uuid()], ARRAY['(0,1)'::tid])", mark)),
                {"Hash Join", "Tid Scan on event", "Index Scan using event_pkey", "Index Cond: (id = ANY"},
                {"Seq Scan on event", "Filter: (ctid"});
  check_words(now.plans_of("outbox.sweep(1000, searched => '{-1,0}')"), {"ROW(shard, seq) > "}, whole_table);
  const auto sweep = now.plans_of("outbox.sweep(1000)");
  const auto orphans = now.plans_of("outbox.release_orphans(1000)");
  for (const auto& plan : {sweep, orphans}) check_words(plan, {}, {"event_young"});
  check_words(sweep, {"using event_order", "using event_due"}, whole_table);
  check_words(orphans, {"using event_behind"}, whole_table);
  if (!they_write) return;
  for (const auto& plan : {sweep, orphans}) check_words(plan, {"Update on event", "Tid Scan on event"}, {});
}

void check_all(const stage& on) {
  check_plans(on, pg::after_publish::keep);
  check_plans(on, pg::after_publish::remove);
  check_functions(on);
}

}  // namespace

TEST_CASE("the plans are the same on an empty, a full and a bloated table, with statistics and without") {
  const stage on;
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
  session.exec(
      "UPDATE outbox.event SET status = 'waiting', available_at = now() + interval '1 day' WHERE status = "
      "'pending'"
      " AND seq % 200 = 0");
  check_all(on);
  session.exec("ANALYZE outbox.event");
  check_all(on);
  // What the functions do when there is something to do.
  session.exec("UPDATE outbox.event SET available_at = now() WHERE status = 'waiting' AND seq % 400 = 0");
  session.exec(
      "UPDATE outbox.event SET behind = 1 WHERE status = 'waiting' AND available_at > now() AND seq % 600 = "
      "0");
  check_functions(on);
  session.exec("DELETE FROM outbox.event");
  check_all(on);
  on.add_events(1, 5);
  const auto few =
      explained_calls(on).plans_of("outbox.claim_few(32, 1000, array_fill(0::bigint, ARRAY[64]), 0, 0)");
  check_words(few, {"Index Scan using event_young", "using event_waiting", "using event_returned"},
              {"Seq Scan on event", "Bitmap", "Sort"});
}

TEST_CASE("a claimed row that has moved is marked by its id") {
  const stage on;
  on.add_events(1, 2);
  auto session = on.connect();
  session.exec(pg::session_settings(30s));
  for (const auto& one : pg::lane_statements(schema, 30s, pg::after_publish::keep))
    if (one.name == pg::statement::mark_published) session.exec("PREPARE mark AS " + one.sql);
  session.exec("BEGIN");
  session.exec("SELECT outbox.take_shards(64)");
  const auto claimed =
      session.exec("SELECT array_agg(id), array_agg(place) FROM outbox.claimed(10, 1000000)");
  session.exec("UPDATE outbox.event SET last_error = 'moved' WHERE seq = 1");
  session.exec(fmt::format("EXECUTE mark('{}', '{}')", claimed[0][0].value(), claimed[0][1].value()));
  session.exec("COMMIT");
  CHECK(on.count("published") == 2);
}

}  // namespace outboxd::test

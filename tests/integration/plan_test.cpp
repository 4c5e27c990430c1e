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
      if (one.sql.find("outbox") != std::string::npos)  // BEGIN and its kind cannot be prepared in SQL
        session_.exec(fmt::format("PREPARE {} AS {}", one.name, one.sql));
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

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

void check_plans(const stage& on, pg::after_publish then) {
  planner now{on, then};
  // No plan reads the table from end to end, and none sorts or copies what is claimed.
  const auto claim = now.plan(pg::statement::claim, "1000, 8000000, '{}'");
  CAPTURE(claim);
  CHECK(has(claim, "Index Scan using event_pending"));
  CHECK(has(claim, "using event_waiting"));
  CHECK(has(claim, "using event_returned"));
  CHECK(has(claim, "using event_followers"));
  for (const auto* word :
       {"Seq Scan", "Sort", "Bitmap", "Function Scan on claimed", "hashed SubPlan", "Materialize"})
    CHECK_FALSE_MESSAGE(has(claim, word), word);

  const auto mark = now.plan(pg::statement::mark_published, "'{}', '{}'");
  CAPTURE(mark);
  CHECK(has(mark, "Tid Scan on event"));
  CHECK(has(mark, "Index Scan using event_pkey"));
  CHECK(has(mark, "One-Time Filter"));
  CHECK_FALSE(has(mark, "Seq Scan"));

  const auto set_back = now.plan(pg::statement::set_back, "'{}', '{}', '{}', '{}', '{}', '{}', '{}'");
  CAPTURE(set_back);
  CHECK(has(set_back, "Index Scan using event_pkey"));
  CHECK_FALSE(has(set_back, "Seq Scan"));

  const auto release = now.plan(pg::statement::release, "'{}'");
  CAPTURE(release);
  CHECK(has(release, "using event_behind"));
  CHECK_FALSE(has(release, "event_followers"));
  CHECK(has(release, "Tid Scan on event"));
  CHECK_FALSE(has(release, "Seq Scan"));
}

void check_both(const stage& on) {
  check_plans(on, pg::after_publish::keep);
  check_plans(on, pg::after_publish::remove);
}

}  // namespace

TEST_CASE("the plans are the same on an empty, a full and a bloated table, with statistics and without") {
  const stage on;
  auto session = on.connect();
  session.exec("ALTER TABLE outbox.event SET (autovacuum_enabled = off)");
  check_both(on);
  session.exec("ANALYZE outbox.event");
  check_both(on);

  on.add_events(20, 1000);
  check_both(on);  // the statistics say that it is empty
  session.exec("ANALYZE outbox.event");
  check_both(on);

  session.exec("UPDATE outbox.event SET status = 'published', published_at = now() WHERE seq % 100 > 0");
  session.exec(
      "UPDATE outbox.event SET status = 'waiting', available_at = now() + interval '1 day' WHERE status = "
      "'pending'"
      " AND seq % 200 = 0");
  check_both(on);
  session.exec("ANALYZE outbox.event");
  check_both(on);
  session.exec("DELETE FROM outbox.event");
  check_both(on);
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

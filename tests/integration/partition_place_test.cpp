// Rows of two partitions at equal places and with equal ids: what is done to one of them is not done to the
// other.
#include <doctest/doctest.h>

#include "partitioned.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::test::partition_place_test {
namespace {

constexpr int rows = 3;

/// A partitioned outbox with as many events in event_p1 as in event_p2, at the same places and with the same
/// ids.
class twins {
 public:
  explicit twins(store::after_publish then = store::after_publish::keep) {
    add();
    rotate_partition(session_);
    session_.exec(
        "INSERT INTO outbox.event (id, aggregate_type, aggregate_id, event_type, payload, headers)"
        " SELECT e.id, e.aggregate_type, e.aggregate_id, e.event_type, e.payload, e.headers"
        " FROM outbox.event_p1 AS e ORDER BY e.seq");
    REQUIRE(texts("SELECT ctid FROM outbox.event_p1 ORDER BY 1") ==
            texts("SELECT ctid FROM outbox.event_p2 ORDER BY 1"));
    REQUIRE(session_.number("SELECT count(*) FROM outbox.event_p2") == rows);
    session_.exec(fmt::format("SELECT {}", store::planner_settings));
    for (const auto& one :
         store::relay_statements(*pg::schema_name::parse("outbox"), payload_type::jsonb, then))
      session_.exec(fmt::format("PREPARE {} AS {}", one.name, one.sql));
    other_ = state("event_p2");
  }

  database& session() { return session_; }
  result_rows texts(const std::string& sql) { return session_.exec(sql); }

  /// Of all rows of event_p1: an array of what `expression` is.
  std::string all(const std::string& expression, const char* part = "event_p1") {
    return session_.value(
        fmt::format("SELECT quote_literal(array_agg({} ORDER BY seq)) FROM outbox.{}", expression, part));
  }
  /// The parameters that name them: ids, seqs and transactions; with places: those after the ids.
  std::string keys(bool with_places = false) {
    return all("id") + (with_places ? ", " + all("ctid") : "") + ", " + all("seq") + ", " + all("tx");
  }
  /// The same, with what the relay knows of a row that it has read and sent.
  std::string keys_as_read() { return keys() + ", " + all("xmin") + ", " + all("''::bytea"); }
  void set_all(const std::string& assignments) {
    session_.exec("UPDATE outbox.event SET " + assignments);
    // It keeps dead rows that a snapshot of autovacuum's still sees.
    eventually(
        "rows of both partitions lie at the same places",
        [&] {
          session_.exec("VACUUM FULL outbox.event_p1");
          session_.exec("VACUUM FULL outbox.event_p2");
          return texts("SELECT ctid FROM outbox.event_p1 ORDER BY 1") ==
                 texts("SELECT ctid FROM outbox.event_p2 ORDER BY 1");
        },
        time_limit);
    other_ = state("event_p2");
  }

  /// All rows of event_p1 are like this now, and nothing has happened to the others.
  void check_done(const std::string& condition) {
    CHECK(session_.number("SELECT count(*) FROM outbox.event_p1 WHERE " + condition) == rows);
    CHECK(state("event_p2") == other_);
  }
  void check_gone() {
    CHECK(session_.number("SELECT count(*) FROM outbox.event_p1") == 0);
    CHECK(state("event_p2") == other_);
  }

 private:
  void add() { on_.add_events(1, rows); }
  result_rows state(const char* part) {
    return session_.exec(fmt::format("SELECT ctid, xmin, e.* FROM outbox.{} AS e ORDER BY seq", part));
  }

  partitioned_stage on_;
  database session_{on_.connect()};
  result_rows other_;
};

constexpr auto week = "604800000";

}  // namespace

TEST_CASE("a mark by place or by id, and a record, change their rows alone") {
  {
    twins on;
    // Also where the group is of both partitions.
    const auto top = on.session().value("SELECT max(seq) FROM outbox.event");
    on.session().exec(fmt::format("EXECUTE mark({}, 0, {})", on.keys(true), top));
    on.check_done("status = 'published'");
  }
  {
    twins on;
    on.session().exec(fmt::format("EXECUTE mark_by_key({})", on.keys_as_read()));
    on.check_done("status = 'published'");
  }
  twins on;
  on.session().exec(fmt::format(
      "EXECUTE record({}, '{{backing_off,backing_off,backing_off}}', '{{1,1,1}}', '{{1000,1000,1000}}',"
      " '{{nacked,nacked,nacked}}', '{{a,b,c}}', '{{NULL,exchange,topic}}', '{{1,2,3}}', '{{x,y,z}}',"
      " '{{k,k,k}}')",
      on.keys()));
  on.check_done("exception = 'backing_off' AND last_error_code = 'nacked' AND attempts = 1");
}

TEST_CASE("relay.after_publish = delete deletes its rows alone") {
  {
    twins on{store::after_publish::remove};
    const auto top = on.session().value("SELECT max(seq) FROM outbox.event");
    on.session().exec(fmt::format("EXECUTE mark({}, 0, {})", on.keys(true), top));
    on.check_gone();
  }
  twins on{store::after_publish::remove};
  on.session().exec(fmt::format("EXECUTE mark_by_key({})", on.keys_as_read()));
  on.check_gone();
}

TEST_CASE("a mark with the bounds of one partition looks into no other") {
  twins on;
  std::string plan;
  for (const auto& row : on.session().exec(fmt::format("EXPLAIN EXECUTE mark({}, {}, {})", on.keys(true),
                                                       partition_width, partition_width + 9)))
    plan += row[0].value_or("") + "\n";
  CHECK_MESSAGE(plan.find("Subplans Removed: 4") != std::string::npos, plan);
}

TEST_CASE("a new retry.give_up_after, and the end of a pause, are of their rows alone") {
  twins on;
  on.set_all(
      "status = 'waiting', exception = 'backing_off', last_error_code = 'nacked', available_at = 'infinity', "
      "first_failed_at = now() - interval '1 minute', waits_for = 1");
  on.session().exec("UPDATE outbox.event_p2 SET waits_for = NULL");
  on.set_all("attempts = attempts");
  on.session().exec("EXECUTE waits(0, 0, 0, 0, 0, 1000, true)");
  on.check_done("available_at <= now()");
  on.set_all("available_at = 'infinity', last_error_code = 'paused'");
  on.session().exec("UPDATE outbox.event_p2 SET event_type = 'paused'");
  on.set_all("attempts = attempts");
  const auto resumed = on.session().exec("EXECUTE resumed(1000, 0, 0, 0, 100, '{paused}', '{}')");
  CHECK(resumed.size() == 1 + rows);
}

TEST_CASE("a read brings late events alone, and not what lies at their places elsewhere") {
  twins on;
  const auto tx = on.session().value("SELECT tx FROM outbox.event_p1 LIMIT 1");
  const auto read = on.session().exec(fmt::format(
      "EXECUTE read(1000, 0, 0, {}, '{{{}}}', '{}', '9000000', {}, 1500, false, '{{}}')", 5 * partition_width,
      tx, on.session().number("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"),
      5 * partition_width));
  REQUIRE(read.size() == 1 + rows);
  for (std::size_t i = 1; i < read.size(); ++i)
    CHECK(std::stoll(read[i][2].value_or("0")) < 2 * partition_width);
}

TEST_CASE("pruning deletes what is old, and not what lies at its place elsewhere") {
  for (const std::string& prune :
       {fmt::format("EXECUTE prune(0, {}, 1000, 9223372036854775807)", week),
        std::string("SELECT outbox.prune_published(now() - interval '7 d', 1000)")}) {
    CAPTURE(prune);
    twins on;
    on.session().exec(
        "UPDATE outbox.event_p1 SET status = 'published', created_at = now() - interval '8 d', published_at "
        "= now() - "
        "interval '8 d'");
    on.set_all("attempts = attempts");
    on.session().exec(prune);
    on.check_gone();
  }
}

TEST_CASE("retry, replay and discard are of the events that are named") {
  for (const auto& [was, call, then] :
       {std::tuple("dead", "dead_retry", "status = 'waiting'"),
        std::tuple("published", "replay", "status = 'waiting'"), std::tuple("dead", "dead_discard", "")}) {
    CAPTURE(call);
    twins on;
    on.set_all(fmt::format("status = '{}'", was));
    on.session().exec(fmt::format("SELECT outbox.{}({}, seqs => {})", call, on.all("id"), on.all("seq")));
    if (std::string_view(then).empty())
      on.check_gone();
    else
      on.check_done(then);
  }
}

TEST_CASE("an operator's command is of the events in the state that it is for, whoever else has their ids") {
  for (const auto& [was, call, left] :
       {std::tuple("dead", "dead_retry", "waiting"), std::tuple("published", "replay", "waiting"),
        std::tuple("dead", "dead_discard", "")}) {
    CAPTURE(call);
    const partitioned_stage on;
    auto session = on.connect();
    const std::string id = "11111111-2222-3333-4444-555555555555";
    const auto add = [&] {
      session.exec(
          "INSERT INTO outbox.event (id, aggregate_type, aggregate_id, event_type, payload)"
          " VALUES ($1, 'order', '1', $2, '{}')",
          {id, on.key()});
    };
    add();
    session.exec(fmt::format("UPDATE outbox.event SET status = '{}'", was));
    rotate_partition(session);
    add();
    CHECK(session.number(fmt::format("SELECT outbox.{}(ARRAY['{}'::uuid])", call, id)) == 1);
    CHECK(session.value("SELECT status FROM outbox.event_p2") == "pending");
    CHECK(session.value("SELECT coalesce(min(status::text), '') FROM outbox.event_p1") == left);
    CHECK(session.number(
              "SELECT count(*) FROM outbox.discarded WHERE event->>'status' IS DISTINCT FROM 'dead'") == 0);
  }
}

TEST_CASE("a change by hand is mended in its own row") {
  twins on;
  on.session().exec("UPDATE outbox.event SET seq = seq + 1000, tx = '1' WHERE seq < 2 * 4294967296");
  on.check_done("seq < 4294967296 + 1000 AND tx <> '1'");
  on.session().exec("UPDATE outbox.event SET status = 'dead' WHERE seq < 2 * 4294967296");
  on.check_done("exception = 'dead'");
}

}  // namespace outboxd::test::partition_place_test

// claim_few_test: claims of few events, in one statement.
#include <doctest/doctest.h>

#include <functional>
#include <future>
#include <optional>

#include "stage.hpp"

namespace outboxd::test {
namespace {

/// A lane's transaction that claims few, with floors of 0 and nothing settled unless it is told otherwise.
class few_claim {
 public:
  explicit few_claim(const stage& on, int most = 32, std::int64_t largest = 100'000, std::int64_t lowest = 0,
                     std::int64_t settled = -1)
      : session_(on.connect()) {
    session_.exec("BEGIN");
    rows_ = session_.exec(
        "SELECT seq, aggregate_id, payload, floor, id FROM"
        " outbox.claim_few($1, $2, array_fill($3::bigint, ARRAY[64]), $4, $3) ORDER BY seq",
        {std::to_string(most), std::to_string(largest), std::to_string(lowest), std::to_string(settled)});
  }

  bool refused() const { return rows_.size() == 1 && !rows_[0][4]; }
  /// Of the events, the lowest first.
  std::vector<std::int64_t> seqs() const {
    std::vector<std::int64_t> out;
    for (const auto& row : rows_) out.push_back(std::stoll(row[0].value_or("-1")));
    return out;
  }
  const result_rows& rows() const { return rows_; }
  std::int64_t floor() const { return std::stoll(rows_.at(0)[3].value_or("-1")); }
  void finish(std::int64_t seq) {
    session_.exec("UPDATE outbox.event SET status = 'published' WHERE seq = $1", {std::to_string(seq)});
    session_.exec("COMMIT");
  }

 private:
  database session_;
  result_rows rows_;
};

std::vector<std::int64_t> from_to(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> out;
  for (auto seq = first; seq <= last; ++seq) out.push_back(seq);
  return out;
}

std::int64_t shards_to_take(const stage& on) {
  auto session = on.connect();
  return session.number("SELECT cardinality(shards) FROM outbox.take_shards(64)");
}

}  // namespace

TEST_CASE("a claim of few has all pending events, and locks their shards") {
  const stage on;
  on.add_events(2, 12);
  on.connect().exec("UPDATE outbox.event SET status = 'published' WHERE seq <= 4");
  const auto before = shards_to_take(on);
  CHECK(before > 4);
  {
    const few_claim one(on);
    CHECK(one.seqs() == from_to(5, 24));
    CHECK(one.rows()[0][1]);
    CHECK(one.rows()[0][2]);
    CHECK(shards_to_take(on) == 0);
    CHECK(few_claim(on).rows().empty());  // others have them, and nothing is wrong
  }
  CHECK(shards_to_take(on) == before);
}

TEST_CASE("a claim of few leaves out what others have locked, and keeps its floor below that") {
  const stage on;
  auto session = on.connect();
  session.exec("SELECT outbox.emit('order', 'first', $1, '{}')", {on.key()});
  few_claim first(on);
  CHECK(first.seqs() == from_to(1, 1));
  session.exec("SELECT outbox.emit('order', 'first', $1, '{}')", {on.key()});
  on.add_events(1, 4);
  const auto of_the_same_shard = session.number(
      "SELECT count(*) FROM outbox.event WHERE shard = (SELECT shard FROM outbox.event WHERE seq = 1)");
  const few_claim others(on, 32, 100'000, 0, 6);
  CHECK(std::ssize(others.seqs()) == 6 - of_the_same_shard);
  CHECK(others.floor() == 1);
  first.finish(1);
  const few_claim rest(on, 32, 100'000, 0, 6);
  CHECK(std::ssize(rest.seqs()) == of_the_same_shard - 1);
}

TEST_CASE("the floor of a claim of few rises to what is pending, but not above what is settled") {
  const stage on;
  on.add_events(10, 1);
  on.connect().exec("UPDATE outbox.event SET status = 'published' WHERE seq < 8");
  CHECK(few_claim(on).floor() == 0);
  CHECK(few_claim(on, 32, 100'000, 0, 4).floor() == 5);
  CHECK(few_claim(on, 32, 100'000, 0, 9).floor() == 8);
  CHECK(few_claim(on, 32, 100'000, 7, 4).floor() == 7);
  CHECK(few_claim(on, 32, 100'000, 9, 9).seqs() == from_to(9, 10));
}

TEST_CASE("a claim of few takes no more than it may, and refuses otherwise") {
  const stage on;
  CHECK(few_claim(on).rows().empty());
  on.add_events(33, 1);
  CHECK(few_claim(on).refused());
  CHECK(few_claim(on, 33).seqs() == from_to(1, 33));
  CHECK(few_claim(on, 32, 100'000, 2).seqs() == from_to(2, 33));
  auto session = on.connect();
  session.exec("UPDATE outbox.event SET status = 'published' WHERE seq > 1");
  on.add_events(466, 1);
  session.exec("UPDATE outbox.event SET status = 'published' WHERE seq > 1");
  CHECK(few_claim(on).seqs() == from_to(1, 1));
  on.add_events(1, 1);
  CHECK(few_claim(on).refused());  // too long a way
  CHECK(few_claim(on, 32, 100'000, 2).seqs() == from_to(500, 500));
  CHECK(shards_to_take(on) == 1);  // a refusal ends with its transaction
}

TEST_CASE("a claim of few is refused while an event waits or is pending again, and not for a dead one") {
  const stage on;
  on.add_events(1, 5);
  auto session = on.connect();
  session.exec("UPDATE outbox.event SET status = 'dead' WHERE seq = 2");
  CHECK(few_claim(on).seqs() == std::vector<std::int64_t>{1, 3, 4, 5});
  session.exec("UPDATE outbox.event SET status = 'pending' WHERE seq = 2");
  CHECK(few_claim(on).refused());
  CHECK(few_claim(on, 32, 100'000, 6).refused());  // it is below the floor, and there is nothing else
  session.exec("UPDATE outbox.event SET status = 'published' WHERE seq = 2");
  CHECK(few_claim(on).seqs() == std::vector<std::int64_t>{1, 3, 4, 5});
  session.exec("SELECT outbox.emit('order', 'later', $1, '{}', available_at => now() + interval '1 hour')",
               {on.key()});
  CHECK(few_claim(on).refused());
}

TEST_CASE("a claim of few withholds what is too large, and takes nothing on a read-only server") {
  const stage on;
  auto session = on.connect();
  session.exec("SELECT outbox.emit('order', 'large', $1, jsonb_build_object('x', repeat('x', 1000)))",
               {on.key()});
  on.add_events(1, 1);
  const few_claim one(on, 32, 1000);
  CHECK(one.seqs() == from_to(1, 2));
  CHECK_FALSE(one.rows()[0][1]);
  CHECK_FALSE(one.rows()[0][2]);
  CHECK(one.rows()[0][4]);
  CHECK(one.rows()[1][2]);

  session.exec("SET default_transaction_read_only = on");
  CHECK(session.exec("SELECT * FROM outbox.claim_few(32, 1000, array_fill(0::bigint, ARRAY[64]), -1, 0)")
            .empty());
}

namespace {

/// Stops every claim of few between its two looks, as long as it is there.
class gate {
 public:
  explicit gate(const stage& on) : session_(on.connect()) {
    std::string definition = session_.value("SELECT pg_get_functiondef('outbox.claim_few'::regproc)");
    const auto between = definition.find("start := ");
    REQUIRE(between != std::string::npos);
    session_.exec(definition.insert(between, "PERFORM pg_advisory_xact_lock(1, 1); "));
    session_.exec("SELECT pg_advisory_lock(1, 1)");
  }
  void await_claim() {
    eventually("a claim is half way", [&] {
      return session_.number(
                 "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 1 AND objid = 1"
                 " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
                 " AND NOT granted") == 1;
    });
  }

 private:
  database session_;
};

/// What a claim of few finds if this happens between its two looks.
struct found_few {
  bool refused = false;
  std::vector<std::int64_t> seqs;
};
found_few claim_while(const stage& on, int most, const std::function<void()>& happens) {
  std::future<found_few> claim;  // it ends after the gate has gone
  std::optional<gate> closed(on);
  claim = std::async(std::launch::async, [&on, most] {
    const few_claim one(on, most);
    return found_few{.refused = one.refused(), .seqs = one.seqs()};
  });
  closed->await_claim();
  happens();
  closed.reset();
  return claim.get();
}

}  // namespace

TEST_CASE(
    "a claim of few keeps the order of an aggregate, also if an earlier event is committed while it looks") {
  const stage on;
  auto session = on.connect();
  const auto neighbour = session.value(
      "SELECT b.id FROM generate_series(1, 10000) AS b(id) WHERE"
      " hashtextextended(b.id::text COLLATE \"C\", hashtextextended('order', 0)) & 63"
      " = hashtextextended('x' COLLATE \"C\", hashtextextended('order', 0)) & 63 LIMIT 1");
  const std::string emit = "SELECT outbox.emit('order', $1, $2, '{}')";
  auto slow = on.connect();
  slow.exec("BEGIN");
  slow.exec(emit, {"x", on.key()});
  session.exec(emit, {neighbour, on.key()});
  const auto found = claim_while(on, 32, [&] {
    slow.exec("COMMIT");
    session.exec(emit, {"x", on.key()});
  });
  CHECK(found.seqs == from_to(1, 3));
}

TEST_CASE("a claim of few takes no more than it may of what is committed while it looks, the oldest first") {
  const stage on;
  on.add_events(1, 1);
  const auto found = claim_while(on, 3, [&] { on.add_events(5, 1); });
  CHECK(found.seqs == from_to(1, 3));
}

TEST_CASE("a claim of few is refused if what it has found is finished while it looks") {
  const stage on;
  on.add_events(1, 1);
  const auto found = claim_while(
      on, 32, [&] { on.connect().exec("UPDATE outbox.event SET status = 'published' WHERE seq = 1"); });
  CHECK(found.refused);
}

namespace {

/// How often a relay with one lane calls claim_few and take_shards.
struct calls {
  std::int64_t claim_few = 0;
  std::int64_t take_shards = 0;
};

/// While events come one by one: 20, then another one, of which it is waited for, and 80 more.
calls one_by_one(const std::string& another = {}) {
  const stage on;
  auto session = on.connect();
  session.exec(fmt::format("ALTER DATABASE {} SET track_functions = 'pl'", on.database_name()));
  relay running(on, {"--relay-lanes", "1"});
  std::int64_t published = 0;
  const auto come = [&](int count) {
    for (int i = 0; i < count; ++i) {
      on.add_events(1, 1);
      on.await_published(++published);
    }
  };
  come(20);
  if (!another.empty()) {
    session.exec(another, {on.key()});
    on.await_published(++published);
  }
  come(80);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK(report.duplicates == 0);
  running.stop();
  eventually("the sessions are closed, and have told what they did",
             [&] { return on.relay_sessions() == 0; });
  const auto of = [&](const std::string& function) {
    return session.number("SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE funcname = $1",
                          {function});
  };
  return {.claim_few = of("claim_few"), .take_shards = of("take_shards")};
}

}  // namespace

TEST_CASE("events that come one by one are claimed in one statement each") {
  const calls all = one_by_one();
  CHECK(all.claim_few >= 90);
  CHECK(all.take_shards <= 20);
}

TEST_CASE(
    "after a large event, or one that was scheduled, events are soon claimed in one statement each again") {
  for (const char* const another :
       {"SELECT outbox.emit('order', 'large', $1, jsonb_build_object('x', repeat('x', 1000000)))",
        "SELECT outbox.emit('order', 'later', $1, '{}', available_at => now() + interval '50 ms')"}) {
    CAPTURE(std::string(another));
    const calls all = one_by_one(another);
    CHECK(all.claim_few >= 20 + 40);
    CHECK(all.take_shards >= 10);
    CHECK(all.take_shards <= 60);
  }
}

}  // namespace outboxd::test

// claim_in_bulk_test: claims of a range of seqs instead of shard after shard.
#include <doctest/doctest.h>

#include <memory>

#include "stage.hpp"

namespace outboxd::test {
namespace {

/// A lane's transaction: shards taken, and then looked at in bulk.
class bulk_claim {
 public:
  bulk_claim(const stage& on, int shards) : session_(on.connect()) {
    session_.exec("BEGIN");
    session_.exec("SELECT outbox.take_shards($1)", {std::to_string(shards)});
  }

  std::int64_t count(int batch, const std::string& where = "true") {
    return session_.number("SELECT count(*) FROM outbox.claimed_in_bulk($1, 1000) WHERE " + where,
                           {std::to_string(batch)});
  }
  /// Where the range ends: after a batch or less for all shards, more seqs for fewer of them, but at most four times the batch.
  std::int64_t finish(int batch) {
    return session_.number(
        "SELECT least(current_setting('outboxd.first')::bigint"
        " + $1 * 60 / cardinality(current_setting('outboxd.shards')::smallint[]),"
        " (SELECT min(s) FROM unnest(current_setting('outboxd.starts')::bigint[]) AS s) + $1 * 4)",
        {std::to_string(batch)});
  }
  std::int64_t pending_before(std::int64_t seq) { return pending(fmt::format("seq < {}", seq)); }
  /// Of the shards that were taken.
  std::int64_t pending(const std::string& where = "true") {
    return session_.number(
        "SELECT count(*) FROM outbox.event WHERE status = 'pending'"
        " AND shard = ANY (current_setting('outboxd.shards')::smallint[]) AND " +
        where);
  }

 private:
  database session_;
};

}  // namespace

TEST_CASE("a claim in bulk has all pending events of its shards in a range of seqs, and no others") {
  const stage on;
  on.add_events(10, 300);
  on.connect().exec("UPDATE outbox.event SET status = 'published', published_at = now() WHERE seq % 10 = 0");
  {
    bulk_claim all{on, 64};
    CHECK(all.finish(500) > 450);
    CHECK(all.finish(500) < 600);
    CHECK(all.count(500) == all.pending_before(all.finish(500)));
    CHECK(all.count(500, "seq % 10 = 0") == 0);
    CHECK(all.count(5000) == 2700);
  }
  {
    bulk_claim some{on, 16};
    CHECK(some.finish(100) > 375);
    CHECK(some.finish(100) <= 400);
    CHECK(some.count(100) == some.pending_before(some.finish(100)));
  }
  bulk_claim one{on, 1};
  CHECK(one.finish(100) == 400);
  CHECK(one.count(100) == one.pending_before(400));
}

TEST_CASE("the range of a claim in bulk has room for what is finished above the floor") {
  const stage on;
  on.add_events(10, 300);
  on.connect().exec("UPDATE outbox.event SET status = 'published', published_at = now() WHERE seq <= 200");
  bulk_claim all{on, 64};
  CHECK(all.finish(100) > 290);
  CHECK(all.count(100) == all.pending_before(all.finish(100)));
  CHECK(all.finish(60) == 240);
  CHECK(all.count(60) == all.pending_before(240));
  CHECK(all.count(50) == 0);
}

TEST_CASE("there is no claim in bulk while an event waits, is pending again, or has one behind it") {
  const stage on;
  on.add_events(1, 300);
  auto session = on.connect();
  const auto found = [&] { return bulk_claim(on, 64).count(1000) > 0; };
  CHECK(found());
  const auto with = [&](const std::string& change) {
    session.exec("UPDATE outbox.event SET " + change + " WHERE seq = 7");
    const bool out = found();
    session.exec("UPDATE outbox.event SET status = 'published', behind = NULL WHERE seq = 7");
    return out;
  };
  CHECK_FALSE(with("status = 'waiting', available_at = now() + interval '1 hour'"));
  CHECK(found());
  session.exec("UPDATE outbox.event SET status = 'dead' WHERE seq = 8");
  CHECK(found());
  session.exec("UPDATE outbox.event SET status = 'pending' WHERE seq = 8");
  CHECK_FALSE(found());
  session.exec("DELETE FROM outbox.event WHERE seq = 8");
  CHECK_FALSE(with("behind = 6"));
  CHECK(found());
}

TEST_CASE("a claim in bulk withholds what is too large") {
  const stage on;
  on.add_events(1, 10);
  on.connect().exec("SELECT outbox.emit('order', 'large', $1, jsonb_build_object('x', repeat('x', 1000)))",
                    {on.key()});
  bulk_claim all{on, 64};
  CHECK(all.count(100, "aggregate_id IS NULL AND payload IS NULL") == 1);
  CHECK(all.count(100, "payload IS NOT NULL") == 10);
}

namespace {

const arguments small_batches{"--relay-batch", "300", "--relay-batch-bytes", "1MB"};

/// Relays what is there with some relays, and returns how many claims in bulk that took, but for one in each session to begin with.
std::int64_t bulk_claims(const stage& on, const arguments& flags = {}, int relays = 1) {
  auto session = on.connect();
  session.exec(fmt::format("ALTER DATABASE {} SET track_functions = 'pl'", on.database_name()));
  arguments all = small_batches;
  all.insert(all.end(), flags.begin(), flags.end());
  std::vector<std::unique_ptr<relay>> running;
  for (int i = 0; i < relays; ++i) running.push_back(std::make_unique<relay>(on, all));
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK(report.duplicates == 0);
  for (const auto& one : running) one->stop();
  eventually("the sessions are closed, and have told what they did",
             [&] { return on.relay_sessions() == 0; });
  return session.number(
             "SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE funcname = 'nothing_aside'") -
         std::int64_t{4} * relays;
}

}  // namespace

TEST_CASE("a backlog is claimed in bulk, in order") {
  const stage on;
  on.add_events(6, 5000);
  CHECK(bulk_claims(on) > 10);
}

TEST_CASE("two relays claim a backlog in bulk, in order") {
  const stage on;
  on.add_events(6, 5000);
  CHECK(bulk_claims(on, {}, 2) > 10);
}

TEST_CASE("a backlog in which events fail, wait or are large is relayed in order") {
  const stage on;
  auto session = on.connect();
  const auto add = [&] { on.add_events(1, 5000); };
  const auto unroutable = fmt::format("{}-lost.event", on.queue());
  add();
  add();
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', a, $1, '{}' FROM generate_series(11, 15) AS a",
      {unroutable});
  add();
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', a, $1, jsonb_build_object('x', repeat('x', a * 1000))"
      " FROM generate_series(1, 10) AS a",
      {on.key()});
  add();
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, available_at)"
      " SELECT 'order', a, $1, '{}', now() + interval '1 second' FROM generate_series(1, 5) AS a",
      {on.key()});
  add();
  bulk_claims(on, {"--retry-schedule", "10ms,10ms"});
  CHECK(on.count("dead") == 5);
}

}  // namespace outboxd::test

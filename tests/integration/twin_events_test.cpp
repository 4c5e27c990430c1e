// Events that have an id in common, in two partitions or one after the other: each is an event of its own.
#include <doctest/doctest.h>

#include <set>

#include "partitioned.hpp"
#include "patient_relay.hpp"
#include "support/suspended_queue.hpp"

namespace outboxd::test::twin_events_test {
namespace {

const std::string id = "11111111-2222-3333-4444-555555555555";

void add(database& session, const std::string& aggregate, const std::string& type,
         const std::string& payload) {
  session.exec(
      "INSERT INTO outbox.event (id, aggregate_type, aggregate_id, event_type, payload)"
      " VALUES ($1, 'order', $2, $3, $4)",
      {id, aggregate, type, payload});
}

// Larger than what comes along with a read, and not to be compressed below that.
std::string large(database& session) {
  return session.value(
      "SELECT to_jsonb(string_agg(md5(n::text || random()::text), '')) FROM generate_series(1, 1000) AS n");
}

std::set<std::string> bodies(const std::vector<delivery>& from) {
  std::set<std::string> out;
  for (const delivery& one : from) out.insert(one.body);
  return out;
}

}  // namespace

TEST_CASE("two large events with one id, in two partitions, both go out, and the relay lives") {
  const partitioned_stage on;
  auto session = on.connect();
  const auto first = large(session);
  const auto second = large(session);
  add(session, "a", on.key(), first);
  rotate_partition(session);
  add(session, "b", on.key(), second);
  relay running{on};
  consumer queue{on.queue()};
  CHECK(bodies(queue.take(2)) == std::set{first, second});
  on.await_drained();
  CHECK(on.count("published") == 2);
  running.stop();
}

TEST_CASE("who inserts the id of an event that waits, in a later partition, does nothing to it") {
  const partitioned_stage on;
  auto session = on.connect();
  session.exec(
      "INSERT INTO outbox.event (id, aggregate_type, aggregate_id, event_type, payload, available_at)"
      " VALUES ($1, 'order', 'victim', $2, '{}', now() + interval '1 h')",
      {id, on.key()});
  session.exec("UPDATE outbox.event SET status = 'waiting', exception = 'scheduled'");  // as a relay does
  rotate_partition(session);
  const auto victim = [&] { return session.exec("SELECT xmin, e.* FROM outbox.event_p1 AS e"); };
  const auto before = victim();
  // No queue takes this one: it is recorded twice, when it begins to wait and when it is dead. That one
  // kills itself.
  add(session, "attacker", "nobody.listens", "{}");
  relay running{on, {"--retry-give-up-after", "1s"}};
  eventually(
      "the other one is dead", [&] { return on.count("dead") == 1; }, time_limit);
  CHECK(session.value("SELECT status FROM outbox.event_p2") == "dead");
  CHECK(victim() == before);
  running.stop();
}

TEST_CASE("a row that takes the place of one that is in flight is sent, too, before it is published") {
  for (const bool same_seq : {false, true}) {
    CAPTURE(same_seq);
    const stage on;
    auto session = on.connect();
    patient_relay running{on};
    {
      const suspended_queue silent{on.queue()};
      add(session, "a", on.key(), R"({"n": 1})");
      eventually(
          "it is in flight", [&] { return metric(running, "outboxd_confirms_in_flight") == 1; }, time_limit);
      const auto seq = same_seq ? session.value("SELECT seq FROM outbox.event") : "DEFAULT";
      session.exec("BEGIN");
      session.exec("DELETE FROM outbox.event");
      session.exec(
          fmt::format("INSERT INTO outbox.event (id, seq, aggregate_type, aggregate_id, event_type, payload)"
                      " VALUES ('{}', {}, 'order', 'b', '{}', '{{\"n\": 2}}')",
                      id, seq, on.key()));
      session.exec("COMMIT");
    }
    consumer queue{on.queue()};
    CHECK(bodies(queue.take(2)) == std::set<std::string>{R"({"n": 1})", R"({"n": 2})"});
    on.await_drained();
    CHECK(on.count("published") == 1);
    running.stop();
  }
}

}  // namespace outboxd::test::twin_events_test

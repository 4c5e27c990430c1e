// flow_destinations_test: what a destination does not take waits; one event at a time finds out whether that
// is over, and all probes together are bounded.
#include "flow/dispatch/destinations.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>

namespace flow_destinations_test {

using namespace outboxd;
using namespace outboxd::flow;
using namespace std::chrono_literals;

namespace {

constexpr int here = 0;
constexpr int there = 1;

struct fixture {
  clock::time_point now{std::chrono::hours(1)};
  std::string said;
  destinations it{{.on_down =
                       [this](const destination_report& what, std::string_view reason) {
                         said += fmt::format("down {}/{} {}; ", what.which.exchange, what.which.routing_key,
                                             reason);
                       },
                   .on_still_down =
                       [this](const destination_report& what) {
                         said += fmt::format("still {} keys {} events; ", what.keys, what.events);
                       },
                   .on_up =
                       [this](const destination_report& what, bool works) {
                         said += fmt::format("{} {}/{}; ", works ? "up" : "over", what.which.exchange,
                                             what.which.routing_key);
                       }}};
  const destination orders{"outbox", "orders"};
  const destination bills{"outbox", "bills"};
  std::int64_t seq = 0;

  // A new event; or one that waits, as the table brings it.
  destination_id fail(const destination& to, failure why = failure::returned) {
    return it.on_failed(to, why, {.seq = ++seq}, here, "reason", now);
  }
  void fail_again(const destination& to, std::int64_t which, failure why = failure::returned) {
    it.on_failed(to, why, waiting(to, which, why), here, "reason", now);
  }
  void deliver(const destination& to) { it.on_delivered(to, {.seq = ++seq}, now); }
  void deliver_again(const destination& to, std::int64_t which) {
    it.on_delivered(to, waiting(to, which, failure::returned), now);
  }
  static destinations::sent_event waiting(const destination& to, std::int64_t which, failure why) {
    return {.seq = which, .waited_for = concerns_exchange(why) ? exchange_id_of(to) : id_of(to)};
  }
  bool sends(const destination& to) const { return !it.find_block(to); }

  std::vector<destinations::look_up> take(int client = here) { return it.take_due(client, 1'000, now); }
  // Takes the probe that is due, which the table answers with this event.
  void probe(const destination& to, std::int64_t which) {
    const auto due = take();
    REQUIRE(due.size() == 1);
    CHECK(due[0].of == id_of(to));
    CHECK_FALSE(due[0].all);
    it.on_probe(due[0].of, which);
  }
  // The pause until the next probe.
  clock::duration pause() { return it.next_due(here, now) - now; }
};

}  // namespace

TEST_CASE("a destination has one number for ever, and its exchange another one") {
  const destination to{"outbox", "order.created"};
  CHECK(static_cast<std::uint64_t>(id_of(to)) == 0x6458F940F0DD3E7DULL);
  CHECK(exchange_of(id_of(to)) == exchange_id_of(to));
  CHECK(is_exchange(exchange_id_of(to)));
  CHECK_FALSE(is_exchange(id_of(to)));
  CHECK(exchange_id_of({"outbox", "other"}) == exchange_id_of(to));
  CHECK(id_of({"outbox", ""}) != exchange_id_of(to));
}

TEST_CASE_FIXTURE(fixture,
                  "one event that fails blocks nobody, and the next one that does blocks what follows") {
  CHECK(fail(orders) == id_of(orders));
  CHECK(sends(orders));
  fail(orders);
  CHECK_FALSE(sends(orders));
  CHECK(it.find_block(orders)->of == id_of(orders));
  CHECK(it.find_block(orders)->why == failure::returned);
  CHECK(sends(bills));
  CHECK(said == "down outbox/orders reason; ");
}

TEST_CASE_FIXTURE(fixture, "a confirm between two failures tells that the destination works") {
  for (int i = 0; i < 10; ++i) fail(orders), deliver(orders);
  CHECK(sends(orders));
  fail(orders);
  CHECK(sends(orders));
  fail(orders);
  CHECK_FALSE(sends(orders));
}

TEST_CASE_FIXTURE(fixture, "one of its events finds out: after half a second, then rarer, up to a minute") {
  fail(orders), fail(orders);
  CHECK(take().empty());
  clock::duration expected = 500ms;
  for (int i = 0; i < 12; ++i) {
    CHECK(pause() == expected);
    now += expected - 1ms;
    CHECK(take().empty());
    now += 1ms;
    probe(orders, 1);
    CHECK(take().empty());
    fail_again(orders, 1);
    expected = std::min<clock::duration>(2 * expected, 60s);
  }
  CHECK(pause() == 60s);
}

TEST_CASE_FIXTURE(fixture, "another event is the next probe, and the first one again after the last") {
  fail(orders), fail(orders);
  now += 500ms;
  CHECK(take().at(0).after < 0);
  it.on_probe(id_of(orders), 7);
  fail_again(orders, 7);
  now += 1s;
  CHECK(take().at(0).after == 7);
  it.on_no_probe(id_of(orders), here, now);
  CHECK(take().at(0).after < 0);
}

TEST_CASE_FIXTURE(fixture, "what was in flight when it was blocked postpones no probe, and counts as none") {
  for (int i = 0; i < 20; ++i) fail(orders);
  CHECK(pause() == 500ms);
  now += 500ms;
  probe(orders, 1);
  for (int i = 0; i < 20; ++i) fail(orders);
  fail_again(orders, 5);
  CHECK(pause() > 10s);  // the probe has no answer yet
  fail_again(orders, 1);
  CHECK(pause() == 1s);
}

TEST_CASE_FIXTURE(fixture, "when a probe gets through, all that waits is read, and new events are sent") {
  fail(orders), fail(orders);
  now += 500ms;
  probe(orders, 1);
  CHECK_FALSE(it.may_go(id_of(orders), 2));
  CHECK(it.may_go(id_of(orders), 1));
  deliver_again(orders, 1);
  CHECK(sends(orders));
  CHECK(it.may_go(id_of(orders), 2));
  const auto due = take();
  REQUIRE(due.size() == 1);
  CHECK(due[0].all);
  CHECK(take().empty());
  now = it.next_due(here, now);
  CHECK(take().empty());
  CHECK(said == "down outbox/orders reason; up outbox/orders; ");
  CHECK(it.down() == 0);
  CHECK(it.next_due(here, now) == clock::time_point::max());
}

TEST_CASE_FIXTURE(fixture, "what fails again when all is read waits longer, unless another one got through") {
  fail(orders), fail(orders);
  now += 500ms;
  probe(orders, 1);
  deliver_again(orders, 1);
  take();
  fail_again(orders, 2);
  fail_again(orders, 3);
  CHECK(pause() == 1s);
  CHECK(sends(orders));  // of new ones nothing is known
  now += 1s;
  probe(orders, 2);
  deliver_again(orders, 2);
  take();
  deliver_again(orders, 3);  // as many as there is room for
  fail_again(orders, 4);
  CHECK(pause() == 1s);
}

TEST_CASE_FIXTURE(fixture, "a missing exchange blocks all of its routing keys at once, and has one probe") {
  CHECK(fail(orders, failure::refused) == exchange_id_of(orders));
  CHECK_FALSE(sends(orders));
  CHECK_FALSE(sends(bills));
  CHECK(sends({"other", "orders"}));
  CHECK(said == "down outbox/ reason; ");
  now += 500ms;
  REQUIRE(take().size() == 1);
  it.on_probe(exchange_id_of(orders), 1);
  SUBCASE("a confirm ends it") {
    deliver(bills);
  }
  SUBCASE("so does what no queue takes: there is an exchange") {
    fail(orders);
  }
  CHECK(sends(bills));
  CHECK(take().at(0).all);
}

TEST_CASE_FIXTURE(fixture, "a right for one topic concerns that routing key alone") {
  fail(orders, failure::topic_forbidden), fail(orders, failure::topic_forbidden);
  CHECK_FALSE(sends(orders));
  CHECK(sends(bills));
}

TEST_CASE_FIXTURE(fixture, "while its exchange is blocked a routing key is not probed") {
  fail(orders), fail(orders);
  fail(bills, failure::forbidden);
  now += 500ms;
  const auto due = take();
  REQUIRE(due.size() == 1);
  CHECK(due[0].of == exchange_id_of(orders));
}

TEST_CASE_FIXTURE(fixture, "three thousand keys that are gone for good cost twenty probes a second at most") {
  for (int i = 0; i < 3'000; ++i) fail({"", fmt::format("reply.{}", i)});
  std::size_t probes = 0;
  const auto end = now + 600s;
  std::size_t most_in_a_second = 0;
  for (auto second = now; second < end; second += 1s) {
    std::size_t in_this = 0;
    for (; now < second + 1s; now += 10ms)
      for (const auto& one : take()) {
        ++in_this;
        it.on_probe(one.of, 1);
        it.on_failed({"", "?"}, failure::returned, {.seq = 1, .waited_for = one.of}, here, "reason", now);
        // The key is not told by the number: what counts is the budget.
        it.on_no_probe(one.of, there, now);
      }
    most_in_a_second = std::max(most_in_a_second, in_this);
    probes += in_this;
  }
  CHECK(most_in_a_second <= 22);
  CHECK(probes <= 600 * 20 + 2);
}

TEST_CASE_FIXTURE(fixture,
                  "beside thousands that are gone, one that works again and one that is new are not late") {
  std::map<destination_id, std::string> names;
  for (int i = 0; i < 3'000; ++i) {
    const auto name = fmt::format("reply.{}", i);
    names[id_of({"", name})] = name;
    fail({"", name});
  }
  const auto probe_all = [&] {
    for (const auto& one : take()) {
      if (one.all) return one.of;
      const auto found = names.find(one.of);
      if (found == names.end()) return one.of;
      it.on_probe(one.of, 1);
      fail_again({"", found->second}, 1);
    }
    return destination_id{};
  };
  for (const auto end = now + 1h; now < end; now += 100ms) CHECK(probe_all() == destination_id{});
  CHECK(it.next_due(here, now) <= now + 1s);  // all of them are overdue
  const destination back{"", "reply.7"};
  deliver(back);
  CHECK(probe_all() == id_of(back));
  fail(orders);
  now += 500ms;
  CHECK(probe_all() == id_of(orders));
}

TEST_CASE_FIXTURE(fixture, "what is written after its destination was forgotten is known again") {
  fail(orders);
  now += 500ms;
  REQUIRE(take().size() == 1);
  it.on_no_probe(id_of(orders), here, now);  // its row is locked, and says nothing yet
  CHECK(it.works(id_of(orders)));
  it.on_recorded(id_of(orders), here, now);
  CHECK(take().size() == 1);
}

TEST_CASE_FIXTURE(fixture, "ten thousand keys of an exchange that is bound again are found within seconds") {
  std::vector<std::string> names;
  for (int i = 0; i < 10'000; ++i) names.push_back(fmt::format("order.{}", i));
  std::map<destination_id, destination> by_id;
  for (const std::string& name : names) by_id[id_of({"outbox", name})] = {"outbox", name};
  const auto again = [&](bool works) {
    std::size_t got = 0;
    for (const auto& one : take()) {
      if (one.all) {
        ++got;
        continue;
      }
      it.on_probe(one.of, 1);
      const destinations::sent_event what{.seq = 1, .waited_for = one.of};
      if (works)
        it.on_delivered(by_id.at(one.of), what, now);
      else
        it.on_failed(by_id.at(one.of), failure::returned, what, here, "reason", now);
    }
    return got;
  };
  for (const std::string& name : names) fail({"outbox", name});
  for (const auto bound = now + 1h; now < bound; now += 1s) again(false);
  std::size_t found = 0;
  const auto start = now;
  while (found < by_id.size() && now < start + 60s) {
    now += 5ms;
    found += again(true);
  }
  CHECK(found == by_id.size());
  CHECK(now - start < 8s);
}

TEST_CASE_FIXTURE(fixture, "an exchange makes its other keys due once in a minute, however its keys fare") {
  fail(orders), fail(bills);
  for (int i = 0; i < 6; ++i) {
    now += 60s;
    for (const auto& one : take()) it.on_probe(one.of, 1);
    fail_again(orders, 1), fail_again(bills, 1);
  }
  CHECK(pause() == 32s);
  now += 32s;
  for (const auto& one : take()) it.on_probe(one.of, 1);
  deliver_again(orders, 1);
  take();
  fail_again(bills, 1);
  const auto first = pause();
  CHECK(first <= 1s);
  fail(orders), fail(orders);
  fail_again(bills, 1);
  deliver(orders);  // within the minute
  for (const auto& one : take()) CHECK(one.of == id_of(orders));
}

TEST_CASE_FIXTURE(fixture, "events that wait are looked for in the shards that have some") {
  fail(orders), fail(orders);
  it.on_waits(id_of(orders), there);
  now += 500ms;
  CHECK(it.next_due(there, now) <= now);
  REQUIRE(take(there).size() == 1);
  it.on_no_probe(id_of(orders), there, now);
  CHECK(take(there).empty());
  CHECK(take(here).size() == 1);
  it.on_no_probe(id_of(orders), here, now);
  CHECK(it.down() == 0);
  CHECK(said == "down outbox/orders reason; over outbox/orders; ");
}

TEST_CASE_FIXTURE(fixture, "when it works, each shard reads what waits there") {
  fail(orders), fail(orders);
  it.on_waits(id_of(orders), there);
  deliver(orders);
  CHECK(take(here).size() == 1);
  CHECK(take(there).size() == 1);
  CHECK(take(here).empty());
}

TEST_CASE_FIXTURE(fixture, "a stream that leads no more takes what it waits for with it, without a word") {
  fail(orders), fail(orders);
  it.leave(here);
  CHECK(it.down() == 0);
  CHECK(sends(orders));
  CHECK(said == "down outbox/orders reason; ");
}

TEST_CASE_FIXTURE(fixture,
                  "what a new leader finds waiting is probed, and blocks nobody before it fails again") {
  it.on_found(id_of(orders), here, now);
  CHECK(sends(orders));
  CHECK(it.down() == 1);
  CHECK(said.empty());
  probe(orders, 1);
  fail_again(orders, 1);
  CHECK(said == "down outbox/orders reason; ");
  fail(orders);
  CHECK_FALSE(sends(orders));
}

TEST_CASE_FIXTURE(fixture, "events that go elsewhere by now have all that waits read once more") {
  fail(orders), fail(orders);
  it.on_moved(id_of(orders), now);
  CHECK(take().at(0).all);
}

TEST_CASE_FIXTURE(fixture, "a lost probe is followed by another one") {
  fail(orders), fail(orders);
  now += 500ms;
  probe(orders, 1);
  CHECK(pause() == 15s);
  now += 15s;
  probe(orders, 2);
}

TEST_CASE_FIXTURE(fixture, "what a queue refuses is tried on a new connection at once") {
  fail(orders, failure::nacked), fail(bills, failure::returned);
  it.on_lane_up(now);
  const auto due = take();
  REQUIRE(due.size() == 1);
  CHECK(due[0].of == id_of(orders));
}

TEST_CASE_FIXTURE(fixture, "the log says once what fails, again after growing pauses, and when it is over") {
  for (int i = 0; i < 2'000; ++i) fail({"outbox", fmt::format("order.{}", i)});
  CHECK(said == "down outbox/order.0 reason; ");
  now += 60s;
  fail({"outbox", "order.0"});
  CHECK(said == "down outbox/order.0 reason; still 2000 keys 2001 events; ");
  now += 599s;
  fail({"outbox", "order.0"});
  CHECK(said == "down outbox/order.0 reason; still 2000 keys 2001 events; ");
  now += 1s;
  fail({"outbox", "order.0"});
  CHECK(said.ends_with("still 2000 keys 2003 events; "));
}

TEST_CASE_FIXTURE(fixture, "memory is bounded: the events of one destination too many wait all the same") {
  destinations small({}, {.most = 2});
  for (const char* key : {"a", "b", "c"})
    for (int i = 0; i < 2; ++i)
      CHECK(small.on_failed({"outbox", key}, failure::returned, {.seq = 1}, here, "reason", now) ==
            id_of({"outbox", key}));
  CHECK(small.down() == 2);
  CHECK_FALSE(small.find_block({"outbox", "c"}));
}

}  // namespace flow_destinations_test

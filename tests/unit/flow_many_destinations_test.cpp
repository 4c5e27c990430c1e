// flow_many_destinations_test: exchanges with their routing keys, and shards: all probes together are
// bounded, and so is what is kept and said.
#include "flow_destinations_script.hpp"

#include <map>

namespace flow_many_destinations_test {

using namespace outboxd;
using namespace outboxd::flow;
using namespace std::chrono_literals;

TEST_CASE_FIXTURE(destinations_script,
                  "a missing exchange blocks all of its routing keys at once, and has one probe") {
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

TEST_CASE_FIXTURE(destinations_script, "a right for one topic concerns that routing key alone") {
  fail(orders, failure::topic_forbidden), fail(orders, failure::topic_forbidden);
  CHECK_FALSE(sends(orders));
  CHECK(sends(bills));
}

TEST_CASE_FIXTURE(destinations_script, "while its exchange is blocked a routing key is not probed") {
  fail(orders), fail(orders);
  fail(bills, failure::forbidden);
  now += 500ms;
  const auto due = take();
  REQUIRE(due.size() == 1);
  CHECK(due[0].of == exchange_id_of(orders));
}

TEST_CASE_FIXTURE(destinations_script,
                  "three thousand keys that are gone for good cost twenty probes a second at most") {
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

TEST_CASE_FIXTURE(destinations_script,
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

TEST_CASE_FIXTURE(destinations_script, "what is written after its destination was forgotten is known again") {
  fail(orders);
  now += 500ms;
  REQUIRE(take().size() == 1);
  it.on_no_probe(id_of(orders), here, now);  // its row is locked, and says nothing yet
  CHECK(it.works(id_of(orders)));
  it.on_recorded(id_of(orders), here, now);
  CHECK(take().size() == 1);
}

TEST_CASE_FIXTURE(destinations_script,
                  "ten thousand keys of an exchange that is bound again are found within seconds") {
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

TEST_CASE_FIXTURE(destinations_script,
                  "an exchange makes its other keys due once in a minute, however its keys fare") {
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

TEST_CASE_FIXTURE(destinations_script, "events that wait are looked for in the shards that have some") {
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

TEST_CASE_FIXTURE(destinations_script, "when it works, each shard reads what waits there") {
  fail(orders), fail(orders);
  it.on_waits(id_of(orders), there);
  deliver(orders);
  CHECK(take(here).size() == 1);
  CHECK(take(there).size() == 1);
  CHECK(take(here).empty());
}

TEST_CASE_FIXTURE(destinations_script,
                  "a stream that leads no more takes what it waits for with it, without a word") {
  fail(orders), fail(orders);
  it.leave(here);
  CHECK(it.down() == 0);
  CHECK(sends(orders));
  CHECK(said == "down outbox/orders reason; ");
}

TEST_CASE_FIXTURE(destinations_script,
                  "the log says once what fails, again after growing pauses, and when it is over") {
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

TEST_CASE_FIXTURE(destinations_script,
                  "memory is bounded: the events of one destination too many wait all the same") {
  destinations small({}, {.most = 2});
  for (const char* key : {"a", "b", "c"})
    for (int i = 0; i < 2; ++i)
      CHECK(small.on_failed({"outbox", key}, failure::returned, {.seq = 1}, here, "reason", now) ==
            id_of({"outbox", key}));
  CHECK(small.down() == 2);
  CHECK_FALSE(small.find_block({"outbox", "c"}));
}

}  // namespace flow_many_destinations_test

// flow_destinations_test: what a destination does not take waits; one event at a time finds out whether that
// is over.
#include "flow_destinations_script.hpp"

namespace flow_destinations_test {

using namespace outboxd;
using namespace outboxd::flow;
using namespace std::chrono_literals;

TEST_CASE("a destination has one number for ever, and its exchange another one") {
  const destination to{"outbox", "order.created"};
  CHECK(static_cast<std::uint64_t>(id_of(to)) == 0x6458F940F0DD3E7DULL);
  CHECK(exchange_of(id_of(to)) == exchange_id_of(to));
  CHECK(is_exchange(exchange_id_of(to)));
  CHECK_FALSE(is_exchange(id_of(to)));
  CHECK(exchange_id_of({"outbox", "other"}) == exchange_id_of(to));
  CHECK(id_of({"outbox", ""}) != exchange_id_of(to));
}

TEST_CASE_FIXTURE(destinations_script,
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

TEST_CASE_FIXTURE(destinations_script, "a confirm between two failures tells that the destination works") {
  for (int i = 0; i < 10; ++i) fail(orders), deliver(orders);
  CHECK(sends(orders));
  fail(orders);
  CHECK(sends(orders));
  fail(orders);
  CHECK_FALSE(sends(orders));
}

TEST_CASE_FIXTURE(destinations_script,
                  "one of its events finds out: after half a second, then rarer, up to a minute") {
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

TEST_CASE_FIXTURE(destinations_script,
                  "another event is the next probe, and the first one again after the last") {
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

TEST_CASE_FIXTURE(destinations_script,
                  "what was in flight when it was blocked postpones no probe, and counts as none") {
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

TEST_CASE_FIXTURE(destinations_script,
                  "when a probe gets through, all that waits is read, and new events are sent") {
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

TEST_CASE_FIXTURE(destinations_script,
                  "what fails again when all is read waits longer, unless another one got through") {
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

TEST_CASE_FIXTURE(destinations_script,
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

TEST_CASE_FIXTURE(destinations_script, "events that go elsewhere by now have all that waits read once more") {
  fail(orders), fail(orders);
  it.on_moved(id_of(orders), now);
  CHECK(take().at(0).all);
}

TEST_CASE_FIXTURE(destinations_script, "a lost probe is followed by another one") {
  fail(orders), fail(orders);
  now += 500ms;
  probe(orders, 1);
  CHECK(pause() == 15s);
  now += 15s;
  probe(orders, 2);
}

TEST_CASE_FIXTURE(destinations_script,
                  "what a queue refuses is tried on a new connection at once, and nothing else") {
  fail(orders, failure::nacked), fail(bills, failure::returned);
  fail({"outbox", "silent"}, failure::unconfirmed);  // its own probes may be what ends connections
  it.on_lane_up(now);
  const auto due = take();
  REQUIRE(due.size() == 1);
  CHECK(due[0].of == id_of(orders));
}

}  // namespace flow_destinations_test

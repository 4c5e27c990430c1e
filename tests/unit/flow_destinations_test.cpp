// flow_destinations_test: a destination that stops working is an outage; an event that fails where others get
// through is not.
#include "flow/dispatch/destinations.hpp"

#include <doctest/doctest.h>

#include "flow_stream_script.hpp"

namespace flow_destinations_test {

using namespace outboxd;
using namespace outboxd::flow;
using namespace outboxd::test;
using namespace std::chrono_literals;
using finding = destinations::finding;
using permit = destinations::permit;

namespace {

struct fixture {
  clock::time_point now{std::chrono::hours(1)};
  std::string said;
  destinations it{
      "outbox",
      {.most = 4},
      {.on_down =
           [this](const destination& which, std::string_view) {
             said += fmt::format("down {}/{} ", which.exchange, which.routing_key);
           },
       .on_up = [this](const destination& which,
                       auto) { said += fmt::format("up {}/{} ", which.exchange, which.routing_key); }}};
  const destination orders{"outbox", "orders"};
  const destination bills{"outbox", "bills"};

  bool deliver(const destination& to) { return it.on_delivered(to, now); }
  // Each of an event of its own, unless it says which.
  finding fail(const destination& to, failure why, excuse before = excuse::none, int which = 0) {
    return it.on_failed(to, why, {id_of(which != 0 ? which : ++events), 0, 0}, before, "reason", now);
  }
  int events = 0;
};

}  // namespace

TEST_CASE_FIXTURE(fixture, "where nothing has ever got through the event is to blame") {
  CHECK(fail(orders, failure::returned) == finding::own);
  CHECK(fail({"missing", "orders"}, failure::refused) == finding::own);
  CHECK(it.ask(orders, now) == permit::send);
  CHECK(said.empty());
}

TEST_CASE_FIXTURE(
    fixture, "what has worked and fails twice in a row is down, and probed now and then until it works") {
  deliver(orders);
  CHECK(fail(orders, failure::returned) == finding::excused);
  CHECK(it.ask(orders, now) == permit::send);
  CHECK(fail(orders, failure::returned) == finding::down);
  CHECK(said == "down outbox/orders ");
  CHECK(it.ask(orders, now) == permit::wait);
  CHECK(it.ask(bills, now) == permit::send);
  now += 500ms;
  CHECK(it.ask(orders, now) == permit::probe);
  CHECK(it.ask(orders, now) == permit::wait);
  now += 999ms;
  CHECK(it.ask(orders, now) == permit::wait);
  now += 1ms;  // and no answer
  CHECK(it.ask(orders, now) == permit::probe);
  CHECK(fail(orders, failure::returned) == finding::down);
  now += 999ms;
  CHECK(it.ask(orders, now) == permit::wait);
  now += 1ms;
  CHECK(it.ask(orders, now) == permit::probe);
  CHECK(deliver(orders));
  CHECK(said == "down outbox/orders up outbox/orders ");
  CHECK(it.ask(orders, now) == permit::send);
  CHECK_FALSE(deliver(orders));
}

TEST_CASE_FIXTURE(fixture, "what was in flight when a destination went down postpones no probe") {
  deliver(orders);
  for (int i = 0; i < 20; ++i) fail(orders, failure::nacked);
  CHECK(it.probe_pause(orders) == 500ms);
  now += 500ms;
  CHECK(it.ask(orders, now) == permit::probe);
  fail(orders, failure::nacked);  // the probe
  for (int i = 0; i < 20; ++i) fail(orders, failure::nacked);
  CHECK(it.probe_pause(orders) == 1s);
  for (int i = 0; i < 10; ++i) {
    now += 3s;
    CHECK(it.ask(orders, now) == permit::probe);
    fail(orders, failure::nacked);
  }
  CHECK(it.probe_pause(orders) == 3s);
}

TEST_CASE_FIXTURE(fixture, "a connection that comes or goes takes the place of a probe") {
  deliver(orders);
  fail(orders, failure::nacked), fail(orders, failure::nacked);
  now += 500ms;
  CHECK(it.ask(orders, now) == permit::probe);
  CHECK(it.ask(orders, now) == permit::wait);
  it.on_lane_changed(now);
  CHECK(it.ask(orders, now) == permit::probe);
  CHECK(it.ask(orders, now) == permit::wait);
}

TEST_CASE_FIXTURE(fixture, "a channel that is closed gives back the probes under way, and ends no pause") {
  fail(orders, failure::refused), fail(orders, failure::refused);
  deliver({"paper", "bills"});
  fail({"paper", "bills"}, failure::refused), fail({"paper", "bills"}, failure::refused);
  now += 500ms;
  CHECK(it.ask(orders, now) == permit::probe_alone);
  CHECK(it.ask({"paper", "bills"}, now) == permit::probe_alone);
  fail(orders, failure::refused);  // over this the channel is closed
  it.on_probes_lost(now);
  CHECK(it.ask(orders, now) == permit::wait);
  CHECK(it.ask({"paper", "bills"}, now) == permit::probe_alone);
  now += 1s;
  CHECK(it.ask(orders, now) == permit::probe_alone);
}

TEST_CASE_FIXTURE(fixture,
                  "an event that fails while others get through is excused once, and then to blame") {
  deliver(orders);
  CHECK(fail(orders, failure::returned) == finding::excused);
  deliver(orders);
  CHECK(fail(orders, failure::returned, excuse::failed) == finding::own);
  CHECK(it.ask(orders, now) == permit::send);
}

TEST_CASE_FIXTURE(
    fixture, "a missing exchange concerns all its routing keys, and the default exchange has always worked") {
  CHECK(fail(orders, failure::refused) == finding::excused);
  CHECK(fail(bills, failure::refused) == finding::down);
  CHECK(said == "down outbox/ ");
  CHECK(it.ask(orders, now) == permit::wait);
  CHECK(it.ask({"other", "orders"}, now) == permit::send);
  CHECK(deliver(bills));
  CHECK(it.ask(orders, now) == permit::send);
}

TEST_CASE_FIXTURE(fixture,
                  "an exchange that the settings name counts as one that has worked, as long as they do") {
  it.trust({"shop"});
  CHECK(fail({"shop", "a"}, failure::refused) == finding::excused);
  CHECK(fail({"shop", "b"}, failure::refused) == finding::down);
  CHECK(fail({"other", "a"}, failure::refused) == finding::own);
  CHECK(fail({"shop", "c"}, failure::returned) == finding::own);  // of its keys nothing is known
  it.trust({});
  CHECK(deliver({"shop", "a"}));
  CHECK(it.down() == 0);
}

TEST_CASE_FIXTURE(fixture, "one event by itself takes nothing down, however often it fails") {
  deliver(orders);
  for (int i = 0; i < 10; ++i)
    CHECK(fail(orders, failure::returned, i > 0 ? excuse::failed : excuse::none, 7) == finding::excused);
  CHECK(it.ask(orders, now) == permit::send);
  CHECK(fail(orders, failure::returned, excuse::none, 8) == finding::down);
}

TEST_CASE_FIXTURE(fixture,
                  "after a flap at most one event is to blame, and the next failure takes it down again") {
  deliver(orders);
  fail(orders, failure::returned), fail(orders, failure::returned);
  deliver(orders);
  CHECK(fail(orders, failure::returned, excuse::failed) == finding::own);
  CHECK(fail(orders, failure::returned, excuse::failed) == finding::down);
}

TEST_CASE_FIXTURE(
    fixture, "a probe of a missing exchange travels alone, and a topic that is refused concerns that topic") {
  fail(orders, failure::refused), fail(bills, failure::refused);
  now += 500ms;
  CHECK(it.ask(orders, now) == permit::probe_alone);
  // It may hold up its lane until it is overdue: no other lane is to wait beside it.
  now += 14'999ms;
  CHECK(it.ask(orders, now) == permit::wait);
  now += 1ms;
  CHECK(it.ask(orders, now) == permit::probe_alone);
  const destination other{"other", "orders"};
  deliver(other);
  fail(other, failure::topic_forbidden), fail(other, failure::topic_forbidden);
  CHECK(it.ask({"other", "bills"}, now) == permit::send);
  CHECK(it.ask(other, now) == permit::wait);
}

TEST_CASE_FIXTURE(fixture, "backpressure needs no earlier success") {
  CHECK(fail(orders, failure::nacked) == finding::excused);
  CHECK(fail(orders, failure::unconfirmed) == finding::down);
  CHECK(fail(orders, failure::nacked, excuse::failed) == finding::down);
}

TEST_CASE_FIXTURE(fixture, "what has never worked is no outage once the broker says what is wrong with it") {
  const destination missing{"missing", "orders"};
  CHECK(fail(missing, failure::unconfirmed) == finding::excused);
  CHECK(fail(missing, failure::unconfirmed) == finding::down);
  CHECK(it.ask(missing, now) == permit::wait);
  CHECK(it.reason_to_wait(missing) == failure::unconfirmed);  // vouches for nothing
  CHECK(fail(missing, failure::refused) == finding::own);
  CHECK(it.down() == 0);
  CHECK(it.ask(missing, now) == permit::send);
  CHECK(fail(missing, failure::refused) == finding::own);
}

TEST_CASE_FIXTURE(
    fixture, "a queue that was full and is unbound is the event's fault where nothing ever got through") {
  CHECK(fail(orders, failure::nacked) == finding::excused);
  CHECK(fail(orders, failure::nacked) == finding::down);
  CHECK(fail(orders, failure::returned) == finding::own);
  CHECK(it.ask(orders, now) == permit::send);
  deliver(bills);
  CHECK(fail(bills, failure::nacked) == finding::excused);
  CHECK(fail(bills, failure::nacked) == finding::down);
  CHECK(it.reason_to_wait(bills) == failure::not_sent);
  CHECK(fail(bills, failure::returned) == finding::down);
}

TEST_CASE_FIXTURE(fixture, "what a former leader has excused tells that its destination has worked") {
  CHECK(fail(orders, failure::returned, excuse::failed) == finding::excused);
  CHECK(fail(orders, failure::returned, excuse::failed) == finding::down);
}

TEST_CASE_FIXTURE(
    fixture, "what a former leader has not sent tells the same, and blames nobody when others get through") {
  CHECK(fail(orders, failure::returned, excuse::not_sent) == finding::excused);
  deliver(orders);
  CHECK(fail(orders, failure::returned, excuse::not_sent) == finding::excused);
}

TEST_CASE_FIXTURE(fixture, "what two new exchanges refuse is the login's fault until anything is confirmed") {
  const destination first{"first", "key"}, second{"second", "key"}, third{"third", "key"};
  CHECK(fail(first, failure::forbidden) == finding::login);
  CHECK(fail(second, failure::forbidden) == finding::login);
  CHECK(fail(first, failure::forbidden, excuse::refused) == finding::login);
  CHECK(fail(second, failure::forbidden, excuse::refused) == finding::login);
  CHECK(fail(third, failure::refused) == finding::own);  // it does not exist
  CHECK(deliver(third));                                 // retries early what waits
  CHECK(fail(first, failure::forbidden, excuse::refused) == finding::own);
  CHECK_FALSE(deliver(orders));
  CHECK(fail(second, failure::forbidden, excuse::refused) == finding::own);
  CHECK(said.empty());
}

TEST_CASE_FIXTURE(fixture, "what a single new exchange refuses is excused once") {
  CHECK(fail({"first", "orders"}, failure::forbidden) == finding::login);
  CHECK(fail({"first", "bills"}, failure::forbidden) == finding::login);
  CHECK(fail({"first", "orders"}, failure::forbidden, excuse::refused) == finding::own);
  CHECK_FALSE(deliver(orders));
  CHECK(fail({"first", "orders"}, failure::forbidden, excuse::refused) == finding::own);
}

TEST_CASE_FIXTURE(fixture, "an exchange that has worked and refuses is down, and tells of the login, too") {
  CHECK(fail(orders, failure::forbidden) == finding::excused);
  CHECK(fail({"new", "key"}, failure::forbidden, excuse::refused) == finding::login);
  CHECK(fail(bills, failure::forbidden) == finding::down);
}

TEST_CASE_FIXTURE(
    fixture, "that an exchange has worked says nothing of a routing key for which no queue was ever bound") {
  for (const auto before : {excuse::exchange_not_sent, excuse::exchange_failed}) {
    CHECK(fail(orders, failure::returned, before) == finding::own);
    CHECK(fail(orders, failure::returned, before) == finding::own);
  }
  CHECK(it.ask(orders, now) == permit::send);
  const destination other{"other", "orders"};
  CHECK(fail(other, failure::refused, excuse::exchange_not_sent) == finding::excused);
  CHECK(fail(other, failure::refused, excuse::exchange_failed) == finding::down);
  CHECK(it.is_exchange_down(other));
  CHECK_FALSE(it.is_exchange_down(orders));
}

TEST_CASE_FIXTURE(fixture, "memory is bounded, and what is forgotten has never worked") {
  for (const char* key : {"a", "b", "c", "d", "e", "f", "g"}) deliver({"outbox", key});
  int known = 0;
  for (const char* key : {"a", "b", "c", "d", "e", "f", "g"})
    known += fail({"outbox", key}, failure::returned) == finding::excused ? 1 : 0;
  CHECK(known <= 4);
  CHECK(known > 0);
}

TEST_CASE_FIXTURE(fixture,
                  "the more events wait the longer each of them does, and none longer than a minute") {
  fail(orders, failure::nacked), fail(orders, failure::nacked);
  CHECK(it.pause(orders) == 1s);
  for (int i = 0; i < 1'000; ++i) it.pause(orders);
  CHECK(it.pause(orders) > 10s);
  for (int i = 0; i < 10'000; ++i) it.pause(orders);
  CHECK(it.pause(orders) == 60s);
}

TEST_CASE(
    "while a destination is down its events wait unsent, a probe finds it up, and they are retried early") {
  stream_script it;
  it.lead();
  it.bring({row(1, 1)});
  it.ack(0, it.latest());
  it.sent();
  it.ask(), it.answer();  // its mark
  it.read({row(2, 2), row(3, 3)});
  CHECK(it.sent() == std::vector<int>{2, 3});
  it.answer(0, it.connections[0].sent[1].name, verdict::returned, "312 NO_ROUTE");
  it.answer(0, it.connections[0].sent[2].name, verdict::returned, "312 NO_ROUTE");
  CHECK(it.failed.size() == 2);
  for (const auto& one : it.failed) {
    CHECK_FALSE(one.counts_attempt);
    CHECK(one.code == "destination_down");
  }
  while (it.asks()) it.answer();
  it.read({row(4, 4)});
  CHECK(it.sent().empty());
  CHECK(it.failed.size() == 3);
  while (it.asks()) it.answer();
  it.now += 500ms;
  it.read({row(5, 5), row(6, 6)});
  CHECK(it.sent() == std::vector<int>{5});  // the probe
  it.ack(0, it.latest());
  bool retried = false;
  while (it.asks()) {
    retried |= it.asked.early_retry_after.has_value();
    it.answer();
  }
  CHECK(retried);
  it.read({row(7, 7)});
  CHECK(it.sent() == std::vector<int>{7});
}

}  // namespace flow_destinations_test

// flow_sent_messages_test: what is in flight on a lane, and in which order what waits for it may go.
#include "flow/dispatch/sent_messages.hpp"

#include <doctest/doctest.h>

#include "flow/dispatch/lane_queue.hpp"

namespace flow_sent_messages_test {

using namespace outboxd;
using namespace outboxd::flow;
using namespace std::chrono_literals;

namespace {

constexpr clock::time_point start{1h};

struct quiet_client final : lane_client {
  bool sends = true;

  bool is_sure_of_lead() const override { return sends; }
  result<message> message_of(slot) override { return message{}; }
  destination target_of(slot) const override { return {}; }
  void on_sent(slot) override {}
  void on_outcome(slot, const outcome&, clock::time_point) override {}
  void on_unencodable(slot, std::string) override {}
  void on_interrupted(slot, const interruption&, bool, clock::time_point) override {}
  void on_overdue(slot) override {}
  void on_unsent(slot) override {}
  void on_lanes_changed() override {}
  void on_progress() override {}
};

struct fixture {
  quiet_client one, other;
  sent_messages sent;
  lane_queue waiting;

  void send(slot which, bool alone = false) { sent.add({&one, which, alone}, start + which * 1s); }
  slot send_next(bool idle = true, bool for_returning = true) {
    const auto next = waiting.next({idle, for_returning});
    if (!next) return no_slot;
    waiting.take(*next);
    return next->which;
  }
};

}  // namespace

TEST_CASE_FIXTURE(fixture, "an outcome closes its message once, and overtakes those that were sent before") {
  for (const slot which : {1, 2, 3}) send(static_cast<slot>(which));
  CHECK(sent.next() == 4);
  const auto was = sent.close(2, start + 10s);
  REQUIRE(was);
  CHECK(was->what.which == 2);
  CHECK(was->at == start + 2s);
  CHECK_FALSE(sent.close(2, start + 11s));
  CHECK(sent.in_flight() == 2);
  sent.drop_closed();
  CHECK(sent.oldest().what.which == 1);
  CHECK(sent.oldest().overtaken == start + 10s);
  REQUIRE(sent.close(3, start + 20s));
  CHECK(sent.oldest().overtaken == start + 10s);  // since the first time
  REQUIRE(sent.close(1, start + 21s));
  sent.drop_closed();
  CHECK(sent.empty());
  CHECK(sent.next() == 4);
}

TEST_CASE_FIXTURE(fixture,
                  "outcomes of what nobody has sent, or of before the channel was gone, are of nothing") {
  send(1), send(2);
  CHECK_FALSE(sent.close(0, start));
  CHECK_FALSE(sent.close(3, start));
  CHECK(sent.take_all().size() == 2);
  CHECK(sent.in_flight() == 0);
  CHECK_FALSE(sent.close(1, start));
  send(7);
  CHECK(sent.close(3, start)->what.which == 7);
}

TEST_CASE_FIXTURE(fixture, "the oldest can be given up, and nobody waits for what is forgotten") {
  send(1), send(2);
  REQUIRE(sent.close(1, start));
  CHECK_FALSE(sent.pop_oldest().open);
  CHECK(sent.in_flight() == 1);
  sent.forget(other);
  CHECK(sent.oldest().what.whose == &one);
  sent.forget(one);
  CHECK(sent.oldest().what.whose == nullptr);
  CHECK(sent.pop_oldest().open);
  CHECK(sent.in_flight() == 0);
}

TEST_CASE_FIXTURE(fixture, "what travels alone is alone until it has its outcome") {
  send(1);
  CHECK_FALSE(sent.is_alone());
  REQUIRE(sent.close(1, start));
  send(2, true);
  CHECK(sent.is_alone());
  REQUIRE(sent.close(2, start));
  CHECK_FALSE(sent.is_alone());
}

TEST_CASE_FIXTURE(fixture,
                  "who travels alone goes when nothing is in flight, and takes turns with the others") {
  for (const slot which : {1, 2}) waiting.add({&one, static_cast<slot>(which), false});
  for (const slot which : {8, 9}) waiting.add({&one, static_cast<slot>(which), true});
  CHECK(send_next(false) == no_slot);
  CHECK(send_next() == 8);
  CHECK(send_next(false) == 1);
  waiting.add({&one, 3, false});
  CHECK(send_next(false) == 2);
  CHECK(send_next(false) == no_slot);  // it is the other's turn
  CHECK(send_next() == 9);
  CHECK(send_next() == 3);
  CHECK(waiting.size() == 0);
}

TEST_CASE_FIXTURE(fixture, "new events go first, and each eighth place is for one that had waited") {
  for (slot which = 100; which < 103; ++which) waiting.add({&one, which, false, true});
  for (slot which = 1; which < 10; ++which) waiting.add({&one, which, false, false});
  for (slot which = 1; which < 8; ++which) CHECK(send_next() == which);
  CHECK(send_next() == 100);
  CHECK(send_next() == 8);
  CHECK(send_next() == 9);
  CHECK(send_next(true, false) == no_slot);  // too many of those are in flight
  CHECK(send_next() == 101);
  CHECK(send_next() == 102);
  CHECK(waiting.size() == 0);
}

TEST_CASE_FIXTURE(fixture, "of what is in flight it is known how many had waited") {
  sent.add({&one, 1, false, true}, start);
  sent.add({&one, 2, false, false}, start);
  sent.add({&one, 3, false, true}, start);
  CHECK(sent.returning() == 2);
  REQUIRE(sent.close(3, start));
  CHECK(sent.returning() == 1);
  CHECK(sent.pop_oldest().open);
  CHECK(sent.returning() == 0);
  sent.add({&one, 4, false, true}, start);
  sent.take_all();
  CHECK(sent.returning() == 0);
}

TEST_CASE_FIXTURE(fixture, "who may not send is passed over, and what is withdrawn is his alone") {
  waiting.add({&one, 1, false});
  waiting.add({&other, 2, false});
  one.sends = false;
  CHECK(send_next() == 2);
  CHECK(send_next() == no_slot);
  waiting.add({&other, 3, true});
  waiting.add({&one, 4, false});
  CHECK(waiting.withdraw(one, [](slot which) { return which > 1; }) == std::vector<slot>{4});
  CHECK(waiting.withdraw(one, [](slot) { return true; }) == std::vector<slot>{1});
  CHECK(waiting.take_all().size() == 1);
  CHECK(waiting.size() == 0);
}

}  // namespace flow_sent_messages_test

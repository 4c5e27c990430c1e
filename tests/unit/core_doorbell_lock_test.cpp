// core_doorbell_lock_test: the same scripts for the lock that silences the writers: refused, late, or lost.
#include <doctest/doctest.h>

#include "doorbell_script.hpp"

using namespace outboxd;
using namespace outboxd::test;
using namespace std::chrono_literals;

namespace {

using state = doorbell_policy::state;
using script = doorbell_script;

}  // namespace

TEST_CASE("the lock refused: it looks by itself, asks again after a while only, and owes nothing") {
  script one;
  one.start().rush();
  CHECK(one.policy.on_refused(one.now) == nothing);
  CHECK(one.in() == state::alert);
  CHECK_FALSE(one.policy.owes());
  CHECK(one.policy.on_notified(100, one.now) == look);
  one.now += one.limits.ask_again;
  CHECK(one.policy.on_notified(100, one.now) == look_and_ask);
  CHECK(one.policy.on_refused(one.now) == nothing);
  CHECK(one.idle(1s) == last_look);
  CHECK(one.in() == state::sleeping);
}

TEST_CASE("the lock refused to one who owes from before: it still owes") {
  script one;
  one.policy.on_mute_up();
  one.policy.on_listening(one.now);
  one.rush();
  CHECK(one.policy.on_refused(one.now) == nothing);
  CHECK(one.idle(1s) == last_look);
  CHECK(one.in() == state::cooling);
}

TEST_CASE("the lock not given in time: it asks again while there is work") {
  script one;
  one.start().rush();
  for (int i = 0; i < 3; ++i) {
    one.now += 1s;
    CHECK(one.policy.on_looked(1, false, one.now) == nothing);
    CHECK(one.policy.on_timed_out(one.now) == ask);
    CHECK(one.in() == state::asking);
  }
  CHECK(one.policy.on_granted(one.now) == nothing);
  CHECK(one.in() == state::hot);
}

TEST_CASE("the lock not given in time and no work left: those who kept silent are waited for") {
  script one;
  one.start().rush();
  CHECK(one.idle(1s) == nothing);
  CHECK(one.in() == state::asking);
  CHECK(one.policy.on_timed_out(one.now) == last_look);
  CHECK(one.in() == state::cooling);
  CHECK(one.policy.owes());
}

TEST_CASE("the lock not given in time and refused then: it owes for the first time") {
  script one;
  one.start().rush();
  CHECK(one.policy.on_timed_out(one.now) == ask);
  CHECK(one.policy.on_refused(one.now) == nothing);
  CHECK(one.policy.owes());
  CHECK(one.idle(1s) == last_look);
  CHECK(one.in() == state::cooling);
}

TEST_CASE("the session of the lock is lost, asking or hot: it goes on looking, and owes") {
  for (const bool granted : {false, true}) {
    script one;
    one.start().rush();
    if (granted) one.policy.on_granted(one.now);
    CHECK(one.policy.on_mute_down(one.now) == nothing);
    CHECK(one.in() == state::alert);
    CHECK(one.policy.on_notified(100, one.now) == look);  // nobody to ask
    one.policy.on_mute_up();
    CHECK(one.policy.on_notified(1, one.now) == look_and_ask);
    CHECK(one.policy.on_mute_down(one.now) == nothing);
    CHECK(one.idle(1s) == last_look);
    CHECK(one.in() == state::cooling);
    CHECK(one.policy.on_swept(over, one.now) == nothing);
    CHECK(one.in() == state::sleeping);
  }
}

TEST_CASE("the session of the lock is lost while asleep or cooling: nothing changes") {
  script one;
  one.policy.on_mute_up();
  CHECK(one.policy.on_mute_down(one.now) == nothing);
  CHECK(one.in() == state::cooling);
  CHECK(one.policy.on_swept(over, one.now) == nothing);
  CHECK(one.policy.on_mute_down(one.now) == nothing);
  CHECK(one.in() == state::sleeping);
}

// flow_listen_probe_test: when notifications count as proven, when as dead, and when somebody has to be
// told.
#include <doctest/doctest.h>

#include "flow/lead/listen_probe.hpp"

namespace flow_listen_probe_test {

using namespace outboxd::flow;
using namespace std::chrono_literals;

namespace {

constexpr probe_limits limits{.interval = 10s, .answer_timeout = 3s};

// A probe and its clock.
struct probe_script {
  listen_probe subject{limits};
  listen_probe::time_point now{std::chrono::hours(1)};

  void begin() { subject.begin(now); }
  void after(std::chrono::milliseconds time) { now += time; }
  bool due() const { return subject.due(now); }
  bool late() const { return subject.late(now); }
  void send() {
    REQUIRE(due());
    subject.on_sent(now);
  }
  bool heard() { return subject.on_heard(now); }
  bool deaf() {
    REQUIRE(late());
    return subject.on_deaf(now);
  }
  // Not sooner, and then.
  void is_due_in(std::chrono::milliseconds time) {
    after(time - 1ms);
    CHECK_FALSE(due());
    after(1ms);
    CHECK(due());
  }
};

}  // namespace

TEST_CASE("without a session there is nothing to prove and nothing to wait for") {
  probe_script s;
  CHECK_FALSE(s.subject.hears());
  CHECK_FALSE(s.due());
  CHECK_FALSE(s.late());
  CHECK_FALSE(s.heard());
  CHECK_FALSE(s.subject.hears());
}

TEST_CASE("a new session is probed at once and heard only when the probe has come back") {
  probe_script s;
  s.begin();
  CHECK_FALSE(s.subject.hears());
  s.send();
  CHECK_FALSE(s.due());
  CHECK_FALSE(s.subject.hears());
  CHECK_FALSE(s.heard());  // nobody has to be told that all is well
  CHECK(s.subject.hears());
}

TEST_CASE("what is heard is probed again at every interval, one probe at a time") {
  probe_script s;
  s.begin();
  for (int i = 0; i < 3; ++i) {
    s.send();
    s.after(5ms);
    s.heard();
    s.is_due_in(limits.interval);
  }
}

TEST_CASE("an answer is late after answer_timeout and not before") {
  probe_script s;
  s.begin();
  s.send();
  s.after(limits.answer_timeout - 1ms);
  CHECK_FALSE(s.late());
  s.after(1ms);
  CHECK(s.late());
  CHECK_FALSE(s.due());
}

TEST_CASE("deafness is said once, probed on at every interval, and its end is said once") {
  probe_script s;
  s.begin();
  s.send();
  s.heard();
  s.after(limits.interval);
  for (int round = 0; round < 3; ++round) {
    s.send();
    CHECK(s.subject.hears() == (round == 0));  // until the contrary is shown
    s.after(limits.answer_timeout);
    CHECK(s.deaf() == (round == 0));
    CHECK_FALSE(s.subject.hears());
    s.is_due_in(limits.interval);
  }
  s.send();
  CHECK(s.heard());
  CHECK(s.subject.hears());
  s.after(limits.interval);
  s.send();
  CHECK_FALSE(s.heard());
}

TEST_CASE("an answer that was thought lost is as good as any") {
  probe_script s;
  s.begin();
  s.send();
  s.after(limits.answer_timeout);
  CHECK(s.deaf());
  s.after(1s);
  CHECK(s.heard());
  CHECK(s.subject.hears());
  s.is_due_in(limits.interval);
}

TEST_CASE("a process that was stopped for an hour and finds the answer there has missed nothing") {
  probe_script s;
  s.begin();
  s.send();
  s.after(1h);
  CHECK(s.late());
  CHECK_FALSE(s.heard());
  CHECK_FALSE(s.late());
  CHECK(s.subject.hears());
}

TEST_CASE("a probe that could not be sent proves nothing and is due again at once") {
  probe_script s;
  s.begin();
  s.send();
  s.heard();
  s.after(limits.interval);
  s.send();
  s.after(limits.answer_timeout);
  s.subject.on_unsent(s.now);
  CHECK(s.subject.hears());
  CHECK(s.due());
}

TEST_CASE("a new session has to prove itself, and it is news only if the one before was deaf") {
  probe_script s;
  s.begin();
  s.send();
  s.heard();
  s.begin();
  CHECK_FALSE(s.subject.hears());
  s.send();
  CHECK_FALSE(s.heard());

  s.after(limits.interval);
  s.send();
  s.after(limits.answer_timeout);
  CHECK(s.deaf());
  s.begin();
  s.send();
  s.after(limits.answer_timeout);
  CHECK_FALSE(s.deaf());  // said already
  s.begin();
  s.send();
  CHECK(s.heard());
}

}  // namespace flow_listen_probe_test

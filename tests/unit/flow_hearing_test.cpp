// flow_hearing_test: when notifications count as proven and when as dead, which are too many, how often a
// word is followed, and when the server's queue is too full.
#include "flow/lead/hearing.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "flow/lead/doorbell.hpp"

namespace flow_hearing_test {

using namespace outboxd::flow;
using namespace std::chrono_literals;

namespace {

// An ear with a clock, and what it has told.
struct ear {
  clock::time_point now{1h};
  int deaf = 0, hears_again = 0, queue_news = 0, loudest = 0;
  hearing it{[this](const any_notice& what) {
    if (std::holds_alternative<notice::deaf>(what)) ++deaf;
    if (std::holds_alternative<notice::hears_again>(what)) ++hears_again;
    if (std::holds_alternative<notice::queue>(what)) ++queue_news;
    if (const auto* one = std::get_if<notice::loudest>(&what)) loudest = one->process;
  }};

  void proof_arrives() { it.hear(word::own_probe, now); }
  // Not sooner, and then.
  void sends_proof_in(std::chrono::milliseconds time) {
    now += time - 1ms;
    CHECK_FALSE(it.sends_proof(now));
    now += 1ms;
    CHECK(it.sends_proof(now));
  }
  void loses_proof() {
    now += 3s;
    CHECK(it.misses_proof(now));
  }

  bool begins_flood() {
    const bool listened = it.listens();
    const auto what = it.heed_flood(now);
    const bool begins = what && std::holds_alternative<task::stop_listening>(*what);
    CHECK(begins == (listened && !it.listens()));
    return begins;
  }
  bool ends_flood() {
    const auto what = it.heed_flood(now);
    return what && std::holds_alternative<task::listen>(*what);
  }
  // Five seconds without listening, which begin with 5,000 notifications.
  void one_flood(int sender) {
    it.add(sender, 5'000, now);
    REQUIRE(begins_flood());
    now += 5s;
    REQUIRE(ends_flood());
  }
};

}  // namespace

TEST_CASE("a shard that was just loaded is probed at once, and heard only when the probe has come back") {
  ear of;
  of.it.start(of.now);
  CHECK_FALSE(of.it.hears());
  CHECK(of.it.sends_proof(of.now));
  CHECK_FALSE(of.it.sends_proof(of.now));  // one at a time
  CHECK_FALSE(of.it.hears());
  of.proof_arrives();
  CHECK(of.it.hears());
  CHECK(of.hears_again == 0);  // nobody has to be told that all is well
}

TEST_CASE("what is heard is probed again every ten seconds, and missed after three") {
  ear of;
  of.it.start(of.now);
  CHECK(of.it.sends_proof(of.now));
  for (int i = 0; i < 3; ++i) {
    of.now += 5ms;
    of.proof_arrives();
    of.sends_proof_in(10s);
  }
  CHECK_FALSE(of.it.misses_proof(of.now + 3s - 1ms));
  CHECK(of.it.misses_proof(of.now + 3s));
  CHECK_FALSE(of.it.misses_proof(of.now + 1h));
}

TEST_CASE("deafness is said once, probed on at every interval, and its end is said once") {
  ear of;
  of.it.start(of.now);
  CHECK(of.it.sends_proof(of.now));
  of.proof_arrives();
  for (int round = 0; round < 3; ++round) {
    of.sends_proof_in(10s);
    CHECK(of.it.hears() == (round == 0));  // until the contrary is shown
    of.loses_proof();
    CHECK(of.deaf == 1);
    CHECK_FALSE(of.it.hears());
  }
  of.now += 1s;
  of.proof_arrives();  // an answer that was thought lost is as good as any
  CHECK(of.it.hears());
  CHECK(of.hears_again == 1);
  of.sends_proof_in(10s);
  of.proof_arrives();
  CHECK(of.hears_again == 1);
}

TEST_CASE("a process that was stopped for an hour and finds the answer there has missed nothing") {
  ear of;
  of.it.start(of.now);
  CHECK(of.it.sends_proof(of.now));
  of.now += 1h;
  of.proof_arrives();
  CHECK_FALSE(of.it.misses_proof(of.now));
  CHECK(of.it.hears());
}

TEST_CASE("a probe that could not be sent proves nothing and is due again at once") {
  ear of;
  of.it.start(of.now);
  of.proof_arrives();
  of.sends_proof_in(10s);
  of.it.on_unsent(of.now);
  CHECK(of.it.hears());
  CHECK(of.it.sends_proof(of.now));
}

TEST_CASE("a new session has to prove itself, and it is news only if the one before was deaf") {
  ear of;
  for (const bool deaf_before : {false, true}) {
    of.it.start(of.now);
    CHECK_FALSE(of.it.hears());
    CHECK(of.it.sends_proof(of.now));
    of.proof_arrives();
    CHECK(of.hears_again == (deaf_before ? 1 : 0));
    for (int sessions = 0; sessions < 2; ++sessions) {
      of.it.start(of.now);
      CHECK(of.it.sends_proof(of.now));
      of.loses_proof();
      CHECK(of.deaf == (deaf_before ? 2 : 1));
    }
  }
}

TEST_CASE("a word is followed at once, and not lost when it comes again too soon") {
  for (const word what : {word::due, word::pause}) {
    ear of;
    const auto begin = of.now;
    CHECK_FALSE(of.it.follows(what, begin));
    CHECK(of.it.next() == clock::time_point::max());
    of.it.hear(what, begin);
    CHECK_FALSE(of.it.follows(what == word::due ? word::pause : word::due, begin));
    CHECK(of.it.follows(what, begin));
    CHECK_FALSE(of.it.follows(what, begin));
    of.it.hear(what, begin);
    CHECK_FALSE(of.it.follows(what, begin + 99ms));
    CHECK(of.it.next() == begin + 100ms);
    CHECK(of.it.follows(what, begin + 100ms));
    CHECK_FALSE(of.it.follows(what, begin + 1h));
  }
}

TEST_CASE("however often it is said, it is followed ten times in a second") {
  ear of;
  int followed = 0;
  for (int said = 0; said < 10'000; ++said, of.now += 100us) {
    of.it.hear(word::due, of.now);
    followed += of.it.follows(word::due, of.now) ? 1 : 0;
  }
  CHECK(followed == 10);
}

TEST_CASE("5,000 notifications within five seconds are a flood, and nobody listens for five seconds") {
  ear of;
  const auto begin = of.now;
  of.it.start(begin);
  of.proof_arrives();
  of.it.add(7, 2'000, begin);
  of.it.add(8, 2'999, of.now = begin + 4s);
  CHECK_FALSE(of.begins_flood());
  CHECK(of.it.next() == clock::time_point::max());
  of.it.add(7, 1, of.now = begin + 5s - 1ms);
  CHECK(of.begins_flood());
  CHECK_FALSE(of.it.hears());
  CHECK(of.it.next() == begin + 10s - 1ms);
  of.it.add(7, 9'999, of.now = begin + 6s);  // was on its way
  of.proof_arrives();
  CHECK_FALSE(of.it.hears());
  CHECK_FALSE(of.begins_flood());
  CHECK_FALSE(of.it.sends_proof(of.now));
  of.now = begin + 10s - 2ms;
  CHECK_FALSE(of.ends_flood());
  of.now += 1ms;
  CHECK(of.ends_flood());
  CHECK(of.it.listens());
  CHECK_FALSE(of.it.hears());
  CHECK(of.it.sends_proof(of.now));
  // What nobody has heard meanwhile.
  CHECK(of.it.follows(word::due, of.now));
  CHECK(of.it.follows(word::pause, of.now));
  CHECK_FALSE(of.begins_flood());
}

TEST_CASE("what the writers of a busy outbox send is no flood, however long it goes on") {
  ear of;
  for (const auto end = of.now + 1h; of.now < end; of.now += 100ms) {
    of.it.add(7, 99, of.now);
    REQUIRE_FALSE(of.begins_flood());
  }
}

TEST_CASE(
    "of a flood that goes on no more than 1,000 a second are heard, and its sender is known while it lasts") {
  ear of;
  int heard = 0;
  const auto begin = of.now, end = begin + 10min;
  for (; of.now < end; of.now += 1ms) {
    of.ends_flood();
    if (!of.it.listens()) continue;
    heard += 100;
    of.it.add(7, 95, of.now);
    of.it.add(8, 5, of.now);
    if (of.begins_flood()) CHECK(of.loudest == (of.now < begin + 5s ? 0 : 7));
  }
  CHECK(heard <= 600'000);
  CHECK(of.loudest == 7);
  of.now = end + 5s;
  of.ends_flood();
  for (const auto later : {10s - 1ms, 10s + 0ms}) {
    of.now = end + later;
    CHECK_FALSE(of.begins_flood());
    CHECK(of.loudest == (later < 10s ? 7 : 0));
  }
}

TEST_CASE("who stops while nobody listens is not named, nor are many who send a little each") {
  ear of;
  of.one_flood(7);
  CHECK(of.loudest == 0);
  of.now += 5s;
  of.one_flood(7);
  CHECK(of.loudest == 0);
  for (int sender = 1; sender <= 5; ++sender) of.it.add(sender, 1'000, of.now);
  CHECK(of.begins_flood());
  CHECK(of.loudest == 0);
  of.now += 5s;
  REQUIRE(of.ends_flood());
  constexpr int many = -1;
  of.one_flood(many);
  CHECK(of.loudest == 0);
  of.one_flood(7);
  CHECK(of.loudest == 7);
}

TEST_CASE("each session that is lost in a flood has the next one listen later, up to five minutes") {
  ear of;
  for (const auto deaf : {5s, 10s, 20s, 40s, 80s, 160s, 300s, 300s}) {
    of.it.add(7, 5'000, of.now);
    if (deaf == 20s) REQUIRE(of.begins_flood());  // it has yet to be told not to send more
    of.it.add(7, 5'000, of.now);
    of.it.on_lost(of.now);
    of.it.start(of.now);
    CHECK_FALSE(of.it.listens());
    CHECK(of.it.next() == of.now + deaf);
    of.now += deaf;
    REQUIRE(of.ends_flood());
    CHECK(of.it.follows(word::due, of.now));
    CHECK(of.it.follows(word::pause, of.now));
    of.now += 1s;
  }
  CHECK(of.loudest == 7);
  of.now += 5s;
  of.it.add(7, 5'000, of.now);
  of.it.on_lost(of.now);
  CHECK(of.it.next() == of.now + 5s);
}

TEST_CASE("a session that is lost without a flood says nothing of one") {
  ear of;
  of.it.add(7, 4'999, of.now);
  of.it.on_lost(of.now);
  CHECK(of.it.listens());
  of.it.add(7, 1, of.now);
  REQUIRE(of.begins_flood());
  of.it.on_lost(of.now + 1s);
  CHECK(of.it.next() == of.now + 5s);
}

TEST_CASE("the queue fills from a tenth on, and until less than a twentieth is left in it") {
  struct step {
    double usage;
    bool fills;
  };
  ear of;
  of.it.start(of.now);
  int news = 0;
  for (const auto [usage, fills] : {step{0.0, false},
                                    {0.09, false},
                                    {0.1, true},
                                    {0.05, true},
                                    {1.0, true},
                                    {0.04, false},
                                    {0.09, false}}) {
    CAPTURE(usage);
    news += fills != of.it.queue_fills() ? 1 : 0;
    of.it.on_queue_usage(usage);
    CHECK(of.it.queue_fills() == fills);
    CHECK(of.it.queue_usage() == usage);
    CHECK(of.queue_news == news);
    if (fills) CHECK_FALSE(of.it.sends_proof(of.now));  // that would fill it more
  }
  CHECK(of.it.sends_proof(of.now));
}

namespace {

// A server's queue that somebody holds up, others that fill it, and a leader that looks at each sweep.
// Returns how many of the outbox's writers failed.
int writers_that_fail(double filled_in_a_second, bool heeds) {
  constexpr auto step = 10ms;
  ear of;
  doorbell bell{{}};
  double usage = 0;
  int failed = 0;
  bell.start(of.now);
  for (auto next_sweep = of.now; of.now < clock::time_point{1h + 60s}; of.now += step) {
    if (of.now >= next_sweep) {
      next_sweep = of.now + 1s;
      of.it.on_queue_usage(usage);
      if (heeds) bell.set(doorbell::obstacle::queue_fills, of.it.queue_fills(), of.now);
    }
    if (of.now >= bell.next_poll()) {
      bell.on_poll();
      bell.on_read_sent();
      bell.on_read(0, true, of.now);
    }
    if (bell.take_action(of.now) == doorbell::action::ask) bell.on_granted(of.now);
    // A writer rings unless it gets SLEEP.
    if (bell.now_in() != doorbell::state::awake && usage >= 1) ++failed;
    if (of.now > clock::time_point{1h + 10s})
      usage = std::min(1.0, usage + filled_in_a_second * std::chrono::duration<double>(step).count());
  }
  return failed;
}

}  // namespace

TEST_CASE("no writer fails by a full queue, unless nine tenths of it fill between two sweeps") {
  for (const double pace : {0.03, 0.1, 0.5, 0.85}) {
    CAPTURE(pace);
    CHECK(writers_that_fail(pace, true) == 0);
    CHECK(writers_that_fail(pace, false) > 0);
  }
}

}  // namespace flow_hearing_test

// relay_dispatcher_test: which lane is sent to work, and what a ring is worth while all of them are busy.
#include <doctest/doctest.h>

#include <memory>

#include "relay/dispatcher.hpp"
#include "scripted_lane.hpp"

using namespace outboxd;
using namespace outboxd::test;
using namespace std::chrono_literals;

namespace {

// Steps: "ring", "stop", "abandon", "check", "debts", "after <ms>", "looks come|end", or "<lane> <step of scripted_lane>", lanes from 1. Answers what
// the lanes then do: "1 claim; 2 idle".
class dispatcher_script {
 public:
  explicit dispatcher_script(std::size_t lanes, const relay::lane_settings& settings = {})
      : subject({.now = [this] { return now; },
                 .on_waiting = [this] { ++waitings; },
                 .on_idle = [this] { ++idles; },
                 .on_published = [this](std::size_t events, relay::clock::duration) { published += events; },
                 .on_set_back = [this](const event&, const relay::setback&) { ++set_back; },
                 .on_looked = [this](std::size_t, bool others_hold) { beside_others = others_hold; },
                 .looks_come = [this] { return looks; },
                 .on_look_owed = [this] { ++looks_owed; }}) {
    for (std::size_t i = 0; i < lanes; ++i)
      subject.add(lanes_.emplace_back(std::make_unique<scripted_lane>(subject, settings))->line);
  }

  std::string after(const std::string& step) {
    const auto words = words_of(step);
    if (words[0] == "ring")
      subject.ring();
    else if (words[0] == "stop" || words[0] == "abandon")
      stop(words[0] == "abandon");
    else if (words[0] == "looks")
      looks = words[1] == "come";
    else if (words[0] == "check")
      subject.check_deadlines();
    else if (words[0] == "debts")
      subject.look_if_owed();
    else if (words[0] == "after")
      now += std::chrono::milliseconds(std::stoll(words[1]));
    else
      REQUIRE(lanes_.at(std::stoul(words[0]) - 1)->apply(join({words.begin() + 1, words.end()}, " ")));
    return calls();
  }

  // All lanes connected, and idle after an empty claim.
  dispatcher_script& at_rest() {
    for (std::size_t i = 1; i <= lanes_.size(); ++i)
      for (const char* step : {"outbox up", "broker up", "claimed"}) after(fmt::format("{} {}", i, step));
    return *this;
  }

  ~dispatcher_script() {
    for (const auto& one : lanes_) CHECK(join(one->rules.broken(), "; ") == "");
  }

  clock::time_point now{1h};
  bool looks = false;
  bool beside_others = false;  // when a claim was answered last, another lane held shards
  int waitings = 0;
  int looks_owed = 0;
  int idles = 0;
  int set_back = 0;
  std::size_t published = 0;
  relay::dispatcher subject;

 private:
  void stop(bool abandon) {
    for (const auto& one : lanes_) one->rules.on_stop();
    abandon ? subject.abandon() : subject.stop();
  }
  std::string calls() {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < lanes_.size(); ++i)
      if (const auto own = lanes_[i]->calls(); !own.empty()) all.push_back(fmt::format("{} {}", i + 1, own));
    return join(all, " | ");
  }

  std::vector<std::unique_ptr<scripted_lane>> lanes_;
};

}  // namespace

TEST_CASE(
    "an answer to a claim tells whether other lanes hold shards, from their claim until they have settled") {
  dispatcher_script one(2);
  one.at_rest();
  CHECK_FALSE(one.beside_others);
  CHECK(one.after("ring") == "1 claim");
  one.after("1 claimed a1");
  CHECK_FALSE(one.beside_others);
  CHECK(one.after("ring") == "2 claim");
  one.after("2 claimed");
  CHECK(one.beside_others);
  one.after("1 acked a1");  // settles and claims
  CHECK(one.after("ring") == "2 claim");
  one.after("2 claimed");
  CHECK(one.beside_others);
  one.after("1 claimed");  // it does not count itself
  CHECK_FALSE(one.beside_others);
}

TEST_CASE("a ring wakes one idle lane, and the next ring another") {
  dispatcher_script s(3);
  s.at_rest();
  CHECK(s.after("ring") == "1 claim");
  CHECK(s.after("ring") == "2 claim");
  CHECK(s.after("1 claimed") == "1 idle");
  CHECK(s.after("ring") == "1 claim");
}

TEST_CASE("a ring passes over lanes that have lost a server") {
  dispatcher_script s(3);
  s.at_rest();
  s.after("1 broker down");
  s.after("2 outbox down");
  CHECK(s.after("ring") == "3 claim");
}

TEST_CASE("a ring while all lanes are busy is remembered until a claim is sent after it") {
  dispatcher_script s(1);
  s.at_rest();
  CHECK(s.after("ring") == "1 claim");
  CHECK(s.after("ring") == "");
  CHECK(s.after("1 claimed") == "1 idle; claim");
  CHECK(s.after("1 claimed") == "1 idle");
}

TEST_CASE("while looks come a batch that is not full is followed by none: the next look finds more") {
  dispatcher_script s(2);
  s.at_rest();
  s.after("looks come");
  CHECK(s.after("ring") == "1 claim all");
  CHECK(s.after("1 claimed a1 b2 +more") == "1 publish a1; publish b2");
  CHECK(s.after("1 acked a1 b2") == "1 settle a1 ok, b2 ok then release");
  CHECK(s.after("1 released") == "1 idle");
  CHECK(s.after("ring") == "1 claim all");
}

TEST_CASE("a ring while all lanes are busy is not left to the next look") {
  dispatcher_script s(1);
  s.at_rest();
  s.after("looks come");
  CHECK(s.after("ring") == "1 claim all");
  CHECK(s.after("1 claimed a1") == "1 publish a1");
  CHECK(s.after("ring") == "");
  CHECK(s.after("1 acked a1") == "1 settle a1 ok then claim");
}

TEST_CASE("a lane that trusted in the next look, which then does not come, looks itself") {
  dispatcher_script s(2);
  s.at_rest();
  s.after("looks come");
  CHECK(s.after("ring") == "1 claim all");
  CHECK(s.after("1 claimed a1") == "1 publish a1");
  CHECK(s.after("1 acked a1") == "1 settle a1 ok then release");
  s.after("looks end");
  CHECK(s.after("ring") == "2 claim");  // the last look: too early for what the first lane still holds
  CHECK(s.after("2 claimed") == "2 idle");
  CHECK(s.after("1 released") == "1 idle; claim");
}

TEST_CASE("full batches are followed by claims of a share, and by other lanes, also while looks come") {
  relay::lane_settings settings;
  settings.batch = 2;
  dispatcher_script s(2, settings);
  s.at_rest();
  s.after("looks come");
  CHECK(s.after("ring") == "1 claim all");
  CHECK(s.after("1 claimed a1 b2") == "1 more work; publish a1; publish b2 | 2 claim all");
  CHECK(s.after("1 acked a1 b2") == "1 settle a1 ok, b2 ok then claim");
}

TEST_CASE("a batch whose shards may have more is followed by a claim at once, also while looks come") {
  dispatcher_script s(1);
  s.at_rest();
  s.after("looks come");
  CHECK(s.after("ring") == "1 claim all");
  CHECK(s.after("1 claimed a1 +full") == "1 more work; publish a1");
  CHECK(s.after("1 acked a1") == "1 settle a1 ok then claim");
}

TEST_CASE("a batch that gives events back is followed by a claim at once, also while looks come") {
  relay::lane_settings settings;
  settings.successor_window = 100ms;
  dispatcher_script s(1, settings);
  s.at_rest();
  s.after("looks come");
  CHECK(s.after("ring") == "1 claim all");
  CHECK(s.after("1 claimed a1 a2") == "1 publish a1");
  s.after("after 100");
  CHECK(s.after("1 acked a1") == "1 settle a1 ok then claim");
}

TEST_CASE("a lane that has not looked again owes a look, which comes after a while") {
  dispatcher_script s(2);
  s.at_rest();
  CHECK_FALSE(s.subject.owed_look().has_value());
  CHECK(s.after("ring") == "1 claim");
  CHECK(s.after("1 claimed a1") == "1 publish a1");
  CHECK(s.after("1 acked a1") == "1 settle a1 ok then release");
  CHECK(s.looks_owed == 0);  // its shards are not free yet
  CHECK(s.after("1 released") == "1 idle; owes a look");
  CHECK(s.looks_owed == 1);
  CHECK(s.subject.owed_look() == s.now + relay::dispatcher::look_owed_after);
  s.after(fmt::format("after {}", relay::dispatcher::look_owed_after.count() - 1));
  CHECK(s.after("debts") == "");
  s.after("after 1");
  CHECK(s.after("debts") == "1 claim");
  CHECK_FALSE(s.subject.owed_look().has_value());
  CHECK(s.after("1 claimed") == "1 idle");
  CHECK(s.after("debts") == "");
}

TEST_CASE("a claim of any lane, sent when the shards were free, is the look that was owed") {
  dispatcher_script s(2);
  s.at_rest();
  s.after("ring");
  s.after("1 claimed a1");
  s.after("1 acked a1");
  s.after("1 released");
  CHECK(s.after("ring") == "1 claim");
  CHECK_FALSE(s.subject.owed_look().has_value());
}

TEST_CASE("a ring after the claim has the lane claim with its settlement, or after it if it comes late") {
  dispatcher_script s(2);
  s.at_rest();
  s.after("ring");
  s.after("1 claimed a1");
  CHECK(s.after("ring") == "2 claim");
  CHECK(s.after("2 claimed") == "2 idle");  // the first lane has the shard
  CHECK(s.after("1 acked a1") == "1 settle a1 ok then claim");
  s.after("1 claimed b2");
  CHECK(s.after("1 acked b2") == "1 settle b2 ok then release");
  CHECK(s.after("ring") == "2 claim");
  CHECK(s.after("2 claimed") == "2 idle");
  CHECK(s.after("1 released") == "1 idle; claim");
}

TEST_CASE("a claim that any lane sends after the ring answers it") {
  dispatcher_script s(2);
  s.at_rest();
  CHECK(s.after("ring") == "1 claim");
  CHECK(s.after("ring") == "2 claim");
  CHECK(s.after("ring") == "");
  CHECK(s.after("1 claimed a1") == "1 publish a1");
  CHECK(s.after("1 acked a1") == "1 settle a1 ok then claim");
  CHECK(s.after("2 claimed") == "2 idle");
}

TEST_CASE("many rings while all lanes are busy are worth one claim") {
  dispatcher_script s(1);
  s.at_rest();
  s.after("ring");
  for (int i = 0; i < 10; ++i) CHECK(s.after("ring") == "");
  CHECK(s.after("1 claimed") == "1 idle; claim");
  CHECK(s.after("1 claimed") == "1 idle");
}

TEST_CASE("a ring that nobody can answer is answered by the first lane that is connected again") {
  dispatcher_script s(2);
  s.at_rest();
  s.after("1 broker down");
  s.after("2 outbox down");
  CHECK(s.after("ring") == "");
  CHECK(s.after("2 outbox up") == "2 claim");
  CHECK(s.after("2 claimed") == "2 idle");
}

TEST_CASE("a lane that finds plenty wakes the next, and so on") {
  dispatcher_script s(3);
  s.at_rest();
  CHECK(s.after("ring") == "1 claim");
  CHECK(s.after("1 claimed a1 +more") == "1 more work; publish a1 | 2 claim");
  CHECK(s.after("2 claimed b2 +more") == "2 more work; publish b2 | 3 claim");
  CHECK(s.after("3 claimed c3 +more") == "3 more work; publish c3");
}

TEST_CASE("a lane that finds little wakes nobody") {
  dispatcher_script s(2);
  s.at_rest();
  s.after("ring");
  CHECK(s.after("1 claimed a1 b2") == "1 publish a1; publish b2");
}

TEST_CASE("the nearest deadline of the waiting lanes counts, and only overdue lanes give up") {
  dispatcher_script s(2);
  s.at_rest();
  CHECK_FALSE(s.subject.next_deadline().has_value());
  s.after("ring");
  s.after("1 claimed a1");
  const auto first = s.now + 10s;
  CHECK(s.subject.next_deadline() == first);
  s.after("after 3000");
  s.after("ring");
  s.after("2 claimed b2");
  CHECK(s.subject.next_deadline() == first);
  CHECK(s.waitings == 2);
  s.after("after 7000");
  CHECK(s.after("check") == "1 drop; settle nothing then release");
  CHECK(s.subject.next_deadline() == first + 3s);
}

TEST_CASE("after a stop no ring is answered, and all lanes come to rest") {
  dispatcher_script s(2);
  s.at_rest();
  s.after("ring");
  s.after("1 claimed a1 a2");
  CHECK_FALSE(s.subject.all_idle());
  CHECK(s.after("stop") == "");
  CHECK(s.after("ring") == "");
  CHECK(s.after("1 acked a1") == "1 settle a1 ok then release");
  CHECK(s.after("1 released") == "1 idle");
  CHECK(s.subject.all_idle());
  CHECK(s.idles == 3);
}

TEST_CASE("abandon makes every waiting lane settle what is known") {
  dispatcher_script s(2);
  s.at_rest();
  s.after("ring");
  s.after("1 claimed a1 b2");
  s.after("ring");
  s.after("2 claimed c3");
  s.after("1 acked b2");
  CHECK(s.after("abandon") == "1 settle b2 ok then release | 2 settle nothing then release");
}

TEST_CASE("what the lanes published and set back is passed on") {
  dispatcher_script s(1);
  s.at_rest();
  s.after("ring");
  s.after("1 claimed a1 b2 c3 d4!");
  s.after("1 acked a1 b2 nacked c3");
  CHECK(s.published == 0);  // not before the commit is answered
  s.after("1 released");
  CHECK(s.published == 2);
  CHECK(s.set_back == 2);
}

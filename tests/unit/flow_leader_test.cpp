// flow_leader_test: what a leader asks for, in which order, and when.
#include "flow/lead/leader.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "request_by_name.hpp"
#include "scripted_lanes.hpp"

namespace flow_leader_test {

using namespace outboxd;
using namespace outboxd::test;
using namespace outboxd::flow;
using namespace std::chrono_literals;

namespace {

// A leader on an open session, whose every task a test answers by hand.
struct script : scripted_lanes {
  script() : scripted_lanes(1), it(pool, share, limits, [this](const any_notice& what) { take(what); }) {
    it.on_session(payload_type::jsonb, now);
  }

  template <class Task>
  Task next() {
    auto what = it.next(now);
    REQUIRE(std::holds_alternative<Task>(what));
    return std::get<Task>(std::move(what));
  }
  // The tasks up to the next wait, answered as by a server on which all is well.
  std::vector<std::size_t> turn() {
    std::vector<std::size_t> out;
    for (int tasks = 0; tasks < 50; ++tasks) {
      auto what = it.next(now);
      if (std::holds_alternative<task::wait>(what)) {
        until = std::get<task::wait>(what).until;
        return out;
      }
      out.push_back(what.index());
      if (std::holds_alternative<task::end_session>(what)) return out;
      answer(what);
    }
    FAIL("it never waits");
    return out;
  }
  static bool has(const std::vector<std::size_t>& all, const leader_task& one) {
    return std::find(all.begin(), all.end(), one.index()) != all.end();
  }
  // The tasks before a standby tries to take a lead, and that.
  void try_to_lead() {
    auto what = it.next(now);
    for (; !std::holds_alternative<task::take_lead>(what); what = it.next(now)) answer(what);
  }
  void lead() {
    for (int turns = 0; turns < 20 && !leads; ++turns) turn();
    REQUIRE(leads);
  }

  // Nothing comes, and SLEEP is free.
  void fall_asleep() {
    it.on_sleep_lock(sleep_news::up, now);
    for (const auto end = now + 5s; now < end && !it.asleep(); now = std::max(until, now + 1ms)) {
      it.hear(word::own_probe, 1, now);
      if (has(turn(), task::use_sleep_lock{})) it.on_sleep_lock(sleep_news::granted, now);
    }
    REQUIRE(it.asleep());
  }

  void answer(leader_task& what) {
    if (const auto* one = std::get_if<task::show_presence>(&what)) it.on_shown(one->able);
    if (std::holds_alternative<task::take_lead>(what)) it.on_taken(free ? std::optional(0) : std::nullopt);
    if (std::holds_alternative<task::load>(what))
      it.on_loaded({.from = {{0, {}}, {}}, .shards = shards, .rings = rings, .server_time = {}}, now);
    if (std::holds_alternative<task::look_for_request>(what))
      it.on_requester(asked ? std::optional<std::string>("another") : std::nullopt, now);
    if (std::holds_alternative<task::count_relays>(what)) it.on_counted(relays, now);
    if (std::holds_alternative<task::notify_self>(what)) it.on_notified_self(true, now);
    if (std::holds_alternative<task::ask_queue_usage>(what)) it.on_queue_usage(usage, now);
    if (const auto* one = std::get_if<task::round_trip>(&what)) {
      test::named_answers out;
      out.read.answer.saw_all = true;
      if (defers) out.read = {.result = read_result::deferred, .reason = "locked", .answer = {}};
      it.on_answer(out.in_order_of(*one->what), read_only, now);
    }
  }

  void take(const any_notice& what) {
    if (std::holds_alternative<notice::leads>(what)) leads = true;
    if (std::holds_alternative<notice::gave_up>(what)) leads = false;
    if (std::holds_alternative<notice::stands_by>(what)) ++stood_by;
    if (std::holds_alternative<notice::deaf>(what)) ++deaf;
    if (std::holds_alternative<notice::hears_again>(what)) ++hears_again;
    if (std::holds_alternative<notice::deferred>(what)) ++deferred;
    if (std::holds_alternative<notice::deferral_over>(what)) ++deferral_over;
    if (const auto* one = std::get_if<notice::makes_way>(&what)) made_way_for = one->who;
    if (const auto* one = std::get_if<notice::queue>(&what)) queue_fills = one->fills;
  }

  leader_limits limits;
  fair_share share;
  bool free = true;
  bool asked = false;
  bool rings = true;
  bool read_only = false;
  bool defers = false;
  int shards = 1;
  int relays = 1;
  double usage = 0;
  bool leads = false;
  bool queue_fills = false;
  int stood_by = 0, deaf = 0, hears_again = 0, deferred = 0, deferral_over = 0;
  std::string made_way_for;
  clock::time_point until;
  leader it;
};

}  // namespace

TEST_CASE("a lead that is free is taken: it listens, sees whether somebody asks for it, loads, and reads") {
  script of;
  CHECK(of.next<task::show_presence>().able);
  of.it.on_shown(true);
  of.next<task::end_hanging_leaders>();
  of.next<task::look_for_lock_holders>();
  of.next<task::mend_shards>();
  CHECK(of.next<task::take_lead>().but.empty());
  of.it.on_taken(0);
  of.next<task::listen>();
  of.next<task::look_for_request>();
  of.it.on_requester(std::nullopt, of.now);
  of.next<task::load>();
  CHECK_FALSE(of.leads);
  of.it.on_loaded({.from = {{0, {}}, {}}, .shards = 1, .rings = true, .server_time = {}}, of.now);
  CHECK(of.leads);
  CHECK(script::has(of.turn(), task::round_trip{}));
  CHECK(of.until > of.now);
}

TEST_CASE("a standby tries ten times a second, and looks for leaders that hang twice") {
  script of;
  of.free = false;
  int tries = 0, looks = 0;
  for (const auto end = of.now + 1s; of.now < end; of.now = of.until) {
    const auto did = of.turn();
    tries += script::has(did, task::take_lead{}) ? 1 : 0;
    looks += script::has(did, task::end_hanging_leaders{}) ? 1 : 0;
  }
  CHECK(tries == 10);
  CHECK(looks == 2);
  CHECK(of.stood_by == 10);
}

TEST_CASE("a standby tries as often as standby_interval says, and looks for leaders that hang no oftener") {
  script of;
  of.free = false;
  of.limits.standby_interval = 2s;
  of.it.adopt(of.limits, of.now);
  int tries = 0, looks = 0;
  for (const auto end = of.now + 1min; of.now < end; of.now = of.until) {
    const auto did = of.turn();
    tries += script::has(did, task::take_lead{}) ? 1 : 0;
    looks += script::has(did, task::end_hanging_leaders{}) ? 1 : 0;
  }
  CHECK(tries == 30);
  CHECK(looks == 30);
}

TEST_CASE("a lead that somebody asks for is handed back before anything is loaded, and left to others") {
  script of;
  of.asked = true;
  const auto did = of.turn();
  CHECK(script::has(did, task::release_lead{}));
  CHECK(script::has(did, task::stop_listening{}));
  CHECK_FALSE(script::has(did, task::load{}));
  CHECK_FALSE(of.it.leads());
  CHECK_FALSE(script::has(of.turn(), task::take_lead{}));
  CHECK(of.made_way_for.empty());
}

TEST_CASE("after a session that was lost in a flood the next one leads and reads, and listens later") {
  script of;
  of.try_to_lead();
  of.it.on_taken(0);
  of.next<task::listen>();
  of.it.hear_sender(7, 5'000, of.now);
  of.it.on_lost(of.now);
  of.it.on_session(payload_type::jsonb, of.now);
  const auto did = of.turn();
  CHECK(of.leads);
  CHECK(script::has(did, task::round_trip{}));
  CHECK_FALSE(script::has(did, task::listen{}));
  of.now += 5s;
  CHECK(script::has(of.turn(), task::listen{}));
}

TEST_CASE("who leads makes way for who asks, in order, and says for whom") {
  script of;
  of.lead();
  of.asked = true;
  of.now += 6s;
  of.it.hear(word::yield, 1, of.now);
  const auto did = of.turn();
  CHECK(script::has(did, task::look_for_request{}));
  CHECK(script::has(did, task::release_lead{}));
  CHECK(script::has(did, task::stop_listening{}));
  CHECK(of.made_way_for == "another");
  CHECK_FALSE(of.leads);
}

TEST_CASE("without a broker no lead is taken, and nobody says that he could lead") {
  script of;
  of.wires.front().on_broker_down({});
  const auto did = of.turn();
  CHECK_FALSE(script::has(did, task::show_presence{}));
  CHECK_FALSE(script::has(did, task::take_lead{}));
}

TEST_CASE("a server that wants no writes gets those that are owed, and loses its leader") {
  script of;
  of.lead();
  of.turn();
  of.read_only = true;
  of.now += 2s;
  const auto did = of.turn();
  CHECK(script::has(did, task::allow_writes{}));
  CHECK(did.back() == leader_task(task::end_session{}).index());
  of.it.on_lost(of.now);
  CHECK_FALSE(of.leads);
}

TEST_CASE("who stops gives the lead back, and then the session") {
  script of;
  of.lead();
  of.turn();
  of.it.stop();
  const auto did = of.turn();
  CHECK(script::has(did, task::release_lead{}));
  CHECK(did.back() == leader_task(task::end_session{}).index());
  CHECK_FALSE(of.leads);
}

TEST_CASE("a lead that is lost with its session is told of, and none that was only about to be taken") {
  script of;
  of.next<task::show_presence>();
  of.it.on_lost(of.now);
  CHECK_FALSE(of.it.leads());
  of.it.on_session(payload_type::jsonb, of.now);
  of.lead();
  of.it.on_lost(of.now);
  CHECK_FALSE(of.leads);
  CHECK_FALSE(of.it.present());
}

TEST_CASE(
    "asleep for long it asks something in each quarter of claim_timeout, or its session would be ended") {
  script of;
  of.lead();
  of.fall_asleep();
  of.limits.sweep_interval = 1h;
  of.it.adopt(of.limits, of.now);
  of.now += 1s;  // the sweep that was due before
  of.turn();
  REQUIRE(of.it.asleep());
  CHECK(of.until == of.now + of.limits.claim_timeout / 4);
  of.now = of.until;
  CHECK(script::has(of.turn(), task::ask_queue_usage{}));
  CHECK(of.it.asleep());
}

TEST_CASE("a notification to itself that does not come back makes it listen again, and say so once") {
  script of;
  of.lead();
  int listens = 0;
  for (const auto end = of.now + 40s; of.now < end; of.now = std::max(of.until, of.now + 10ms))
    listens += script::has(of.turn(), task::listen{}) ? 1 : 0;
  CHECK(listens > 1);
  CHECK(of.deaf == 1);
  of.it.hear(word::own_probe, 1, of.now);
  CHECK(of.hears_again == 1);
  CHECK(of.it.hears());
}

TEST_CASE("statements that are put off are said once they have been for a second, and so is their end") {
  script of;
  of.lead();
  of.turn();
  const auto for_a_while = [&of](clock::duration time, bool defers) {
    of.defers = defers;
    for (const auto end = of.now + time; of.now < end; of.now += 50ms) of.turn();
  };
  for (int times = 0; times < 2; ++times) {
    for_a_while(900ms, true);
    for_a_while(2s, false);
    CHECK(of.deferred == times);  // for a moment: not worth a word
    CHECK(of.deferral_over == times);
    for_a_while(5s, true);
    CHECK(of.deferred == times + 1);
    CHECK(of.deferral_over == times);
    for_a_while(2s, false);
    CHECK(of.deferral_over == times + 1);
  }
}

TEST_CASE("it asks for SLEEP when it hears and nothing comes, and not while the server's queue fills") {
  for (const double usage : {0.0, 0.5}) {
    CAPTURE(usage);
    script of;
    of.usage = usage;
    of.lead();
    of.it.on_sleep_lock(sleep_news::up, of.now);
    bool asks = false;
    for (const auto end = of.now + 5s; of.now < end; of.now = std::max(of.until, of.now + 1ms)) {
      of.it.hear(word::own_probe, 1, of.now);
      asks |= script::has(of.turn(), task::use_sleep_lock{});
    }
    CHECK(asks == (usage == 0.0));
    CHECK(of.queue_fills == (usage > 0));
  }
}

TEST_CASE("shards are shared: one leader more than shards are led, one try at a time, the latest gives up") {
  scripted_lanes lanes(1);
  fair_share share;
  const auto quiet = [](const any_notice&) {};
  leader first(lanes.pool, share, {}, quiet);
  share.on_shards(4);
  CHECK_FALSE(share.lacks_leader());
  CHECK(share.may_lead(first));
  first.on_taken(2);
  CHECK(share.lacks_leader());
  leader second(lanes.pool, share, {}, quiet);
  CHECK_FALSE(share.lacks_leader());
  CHECK(share.may_lead(second));
  CHECK(share.led_shards() == std::vector<std::int64_t>{2});
  share.on_counted(4);  // one shard each
  CHECK_FALSE(share.may_lead(second));
  second.on_taken(0);
  CHECK(share.has_too_many(second, lanes.now));
  CHECK_FALSE(share.has_too_many(first, lanes.now));
  share.on_counted(0);
  CHECK(share.relays() == 1);
  CHECK_FALSE(share.has_too_many(second, lanes.now));
}

TEST_CASE("the first leader of a relay counts the relays also while it stands by and another one leads") {
  script of;
  of.free = false;
  of.share.on_shards(4);
  CHECK_FALSE(script::has(of.turn(), task::count_relays{}));
  leader second(of.pool, of.share, {}, [](const any_notice&) {});
  second.on_taken(0);
  of.now += 1s;
  of.relays = 2;
  CHECK(script::has(of.turn(), task::count_relays{}));
  CHECK(of.share.relays() == 2);
  of.now += 1s;
  of.relays = 1;
  of.turn();
  CHECK(of.share.relays() == 1);
  CHECK(of.share.may_lead(of.it));
}

TEST_CASE("for a relay its first leader speaks that has a session, and gives that back to one before it") {
  scripted_lanes lanes(1);
  fair_share share;
  const auto quiet = [](const any_notice&) {};
  leader first(lanes.pool, share, {}, quiet);
  leader second(lanes.pool, share, {}, quiet);
  second.on_session(payload_type::jsonb, lanes.now);
  CHECK(share.speaks(second));
  auto asked = second.next(lanes.now);
  REQUIRE(std::holds_alternative<task::show_presence>(asked));
  CHECK(std::get<task::show_presence>(asked).able);
  second.on_shown(true);
  CHECK(share.is_present());
  first.on_session(payload_type::jsonb, lanes.now);
  CHECK(share.speaks(first));
  CHECK_FALSE(share.speaks(second));
  for (asked = second.next(lanes.now); !std::holds_alternative<task::show_presence>(asked);
       asked = second.next(lanes.now))
    lanes.now += 10ms;
  CHECK_FALSE(std::get<task::show_presence>(asked).able);
  first.on_lost(lanes.now);
  CHECK(share.speaks(second));
}

}  // namespace flow_leader_test

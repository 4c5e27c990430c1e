// sleep_model: relays, their sessions, and what the server does with their locks.
#include <algorithm>

#include "sleep_model_steps.hpp"

namespace outboxd::test {

using namespace sleep_steps;

namespace {

bool wants_sleep(const relay& r) {
  return r.pc == rat::requesting || r.pc == rat::granted || r.pc == rat::asleep;
}

void stand_up(relay& r) {
  if (!r.sleep_cut) r.sleep = hold::none;
  // A read that is under way now will be older than the next grant.
  if (r.read == relay::reading::fresh) r.read = relay::reading::early;
  r.again = false;
  r.pc = rat::awake;
}

// What it has read and not settled yet is read once more by whoever leads next.
void forget(world& in, std::size_t shard) {
  for (writer& w : in.writers)
    if (w.events[shard] != news::none) w.events[shard] = news::unread;
}

// The relay has noticed, or is no more: what the server still has of that session becomes a ghost.
void leave_stream(relay& r) {
  r.ghost_lead = r.ghost_lead || r.lead;
  r.lead = r.stream_cut = r.notified = r.again = r.stops_short = false;
  r.read = relay::reading::no;
}

void leave_sleep(relay& r) {
  r.ghost_sleep = std::max(r.ghost_sleep, r.sleep);
  r.sleep = hold::none;
  r.sleep_cut = false;
}

}  // namespace

// The session that leads and listens. What a read sees is settled in one step; its answer takes its time.
void sleep_model::lead(const world& from, std::size_t who, std::vector<step>& out) const {
  const auto add = adder(from, &world::relays, "relay", who, out);
  const relay& now = from.relays[who];
  if (now.pc == rat::standby && !led(from, now.shard))
    add(fair, "takes LEAD", [](world&, relay& r) {
      r.lead = true;
      r.pc = rat::awake;
    });
  if (!now.lead || now.stream_cut) return;
  if (now.notified)
    add(fair, "is notified", [&](world&, relay& r) {
      r.notified = false;
      if (with_ == flaw::deaf_while_reading && r.read != relay::reading::no) return;
      // Who polls reads anyway, and who has just been granted SLEEP at least once.
      r.again = r.pc == rat::granted || r.pc == rat::asleep;
    });
  if (now.read != relay::reading::no) {
    add(fair, "has its answer", [&](world& in, relay& r) { answer(in, r); });
    return;
  }
  if (now.pc == rat::asleep && !now.again) return;
  const auto begin = [](relay& r) {
    r.read = r.pc == rat::granted || r.pc == rat::asleep ? relay::reading::fresh : relay::reading::early;
    r.again = false;
  };
  const auto see = [shard = now.shard](writer& w) {
    if (w.events[shard] == news::unread) w.events[shard] = news::under_way;
  };
  add(fair, "reads", [&](world& in, relay& r) {
    begin(r);
    for (writer& w : in.writers) see(w);
  });
  if (!within_.short_reads) return;
  add(free_to, "reads, and stops short of everything", [&](world&, relay& r) {
    begin(r);
    r.stops_short = true;
  });
  for (std::size_t i = 0; i < from.writers.size(); ++i)
    if (from.writers[i].events[now.shard] == news::unread)
      add(free_to, "reads, and stops short behind one writer", [&](world& in, relay& r) {
        begin(r);
        r.stops_short = true;
        see(in.writers[i]);
      });
}

void sleep_model::answer(world& in, relay& by) const {
  for (writer& w : in.writers)
    if (w.events[by.shard] == news::under_way) w.events[by.shard] = news::read;
  const bool whole = !by.stops_short || with_ == flaw::sleeps_on_short_read;
  const bool counts = by.read == relay::reading::fresh || with_ == flaw::earlier_read_accepted;
  by.read = relay::reading::no;
  by.stops_short = false;
  if (by.pc == rat::granted && whole && counts) {
    by.pc = rat::asleep;
  } else if (by.pc == rat::asleep && !whole) {
    by.again = true;
  }
}

// What the relay does about SLEEP. On a session that is cut its words go nowhere.
void sleep_model::sleep(const world& from, std::size_t who, std::vector<step>& out) const {
  const auto add = adder(from, &world::relays, "relay", who, out);
  const relay& now = from.relays[who];
  if (now.pc == rat::awake) {
    if (!now.sleep_cut && !wanted(from, now.shard) && !shared(from, now.shard))
      add(free_to, "tries SLEEP and has it", [](world&, relay& r) {
        r.sleep = hold::held;
        r.pc = rat::requesting;
      });
    add(free_to, "asks for SLEEP and waits", [](world&, relay& r) {
      if (!r.sleep_cut) r.sleep = hold::queued;
      r.pc = rat::requesting;
    });
  }
  if (now.pc == rat::requesting && now.sleep == hold::held && !now.sleep_cut)
    add(fair, "learns that it has SLEEP",
        [&](world&, relay& r) { r.pc = with_ == flaw::no_read_after_grant ? rat::asleep : rat::granted; });
  if (wants_sleep(now))
    add(free_to, now.pc == rat::requesting ? "asks no longer" : "wakes up",
        [](world&, relay& r) { stand_up(r); });
}

// What the server does with a relay's locks.
void sleep_model::serve(const world& from, std::size_t who, std::vector<step>& out) const {
  const auto add = adder(from, &world::relays, "relay", who, out);
  const relay& now = from.relays[who];
  if (!shared(from, now.shard) && !held(from, now.shard)) {
    if (now.sleep == hold::queued)
      add(fair, "is granted SLEEP", [](world&, relay& r) { r.sleep = hold::held; });
    if (now.ghost_sleep == hold::queued)
      add(fair, "is granted SLEEP when it has gone", [](world&, relay& r) { r.ghost_sleep = hold::held; });
  }
  if (now.stream_cut && now.lead) add(fair, "has no LEAD any more", [](world&, relay& r) { r.lead = false; });
  if (now.sleep_cut && now.sleep != hold::none)
    add(fair, "has no SLEEP any more", [](world&, relay& r) { r.sleep = hold::none; });
  if (now.ghost_lead) add(fair, "leaves LEAD at last", [](world&, relay& r) { r.ghost_lead = false; });
  if (now.ghost_sleep != hold::none)
    add(fair, "leaves SLEEP at last", [](world&, relay& r) { r.ghost_sleep = hold::none; });
}

// A living relay learns that a session is lost, and has a new one.
void sleep_model::notice(const world& from, std::size_t who, std::vector<step>& out) const {
  const auto add = adder(from, &world::relays, "relay", who, out);
  const relay& now = from.relays[who];
  if (now.stream_cut)
    add(fair, "notices that its stream is lost", [](world&, relay& r) {
      stand_up(r);
      leave_stream(r);
      r.pc = rat::standby;
    });
  if (now.sleep_cut)
    add(fair, "notices that its session with SLEEP is lost", [&](world&, relay& r) {
      const bool stays = with_ == flaw::sleeps_without_session && r.pc != rat::requesting;
      if (wants_sleep(r) && !stays) stand_up(r);
      leave_sleep(r);
    });
}

void sleep_model::fail(const world& from, std::size_t who, std::vector<step>& out) const {
  const auto add = adder(from, &world::relays, "relay", who, out);
  const relay& now = from.relays[who];
  if (now.pc == rat::dead || from.faults >= within_.faults) return;
  add(free_to, "is killed", [](world& in, relay& r) {
    ++in.faults;
    if (r.lead && !r.stream_cut) forget(in, r.shard);
    leave_stream(r);
    leave_sleep(r);
    r.pc = rat::dead;
  });
  if (now.lead && !now.stream_cut)
    add(free_to, "loses its stream", [](world& in, relay& r) {
      ++in.faults;
      forget(in, r.shard);
      r.stream_cut = true;
      r.notified = false;
    });
  if (wants_sleep(now) && !now.sleep_cut)
    add(free_to, "loses its session with SLEEP", [](world& in, relay& r) {
      ++in.faults;
      r.sleep_cut = true;
    });
}

}  // namespace outboxd::test

#include "sleep_model.hpp"

#include <algorithm>

namespace outboxd::test {
namespace {

using flaw = sleep_model::flaw;
using hold = sleep_model::hold;
using news = sleep_model::news;
using relay = sleep_model::relay;
using scope = sleep_model::scope;
using step = sleep_model::step;
using world = sleep_model::world;
using writer = sleep_model::writer;
using wat = writer::at;
using rat = relay::at;

// Somebody has SLEEP exclusively or waits for it: either turns away who would share it.
bool wanted(const world& in) {
  return std::ranges::any_of(
      in.relays, [](const relay& r) { return r.sleep != hold::none || r.ghost_sleep != hold::none; });
}

bool shared(const world& in) {
  return std::ranges::any_of(in.writers, [](const writer& w) { return w.outer.lock || w.inner.lock; });
}

bool held(const world& in) {
  return std::ranges::any_of(
      in.relays, [](const relay& r) { return r.sleep == hold::held || r.ghost_sleep == hold::held; });
}

bool led(const world& in) {
  return std::ranges::any_of(in.relays, [](const relay& r) { return r.lead || r.ghost_lead; });
}

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
void forget(world& in) {
  for (writer& w : in.writers)
    if (w.events != news::none) w.events = news::unread;
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

class packed {
 public:
  template <typename... T>
  packed& add(unsigned bits, T... values) {
    ((number_ |= static_cast<std::uint64_t>(values) << at_, at_ += bits), ...);
    return *this;
  }
  std::uint64_t number() const { return number_; }

 private:
  std::uint64_t number_ = 0;
  unsigned at_ = 0;
};

std::uint64_t key_of(const scope& of) {
  return packed().add(1, of.lock, of.event, of.ring).number();
}

std::uint64_t key_of(const writer& of) {
  return packed()
      .add(1, of.inside)
      .add(2, of.inserts, of.events)
      .add(3, of.pc, key_of(of.outer), key_of(of.inner))
      .number();
}

std::uint64_t key_of(const relay& of) {
  return packed()
      .add(1, of.lead, of.stream_cut, of.sleep_cut, of.ghost_lead, of.stops_short, of.notified, of.again)
      .add(2, of.sleep, of.ghost_sleep, of.read)
      .add(3, of.pc)
      .number();
}

// Adds the steps of one writer or relay.
template <typename Of>
auto adder(const world& from, std::array<Of, 2> world::*among, const char* name, std::size_t who,
           std::vector<step>& out) {
  return [&from, &out, among, name, who](bool fair, const char* what, auto&& change) {
    step& one = out.emplace_back(step{name, who, what, fair, from});
    change(one.to, (one.to.*among)[who]);
  };
}

constexpr bool fair = true;
constexpr bool free_to = false;

}  // namespace

void sleep_model::scope::merge(const scope& inner) {
  lock = lock || inner.lock;
  event = event || inner.event;
  ring = ring || inner.ring;
}

std::uint64_t sleep_model::key_of(const world& of) {
  const auto [low, high] = std::minmax({test::key_of(of.relays[0]), test::key_of(of.relays[1])});
  const auto first = test::key_of(of.writers[0]);
  const auto second = test::key_of(of.writers[1]);
  return packed().add(14, first, second).add(16, low, high).add(2, of.faults).number();
}

sleep_model::world sleep_model::begin() const {
  world out;
  for (std::size_t i = 0; i < out.relays.size(); ++i)
    if (i < static_cast<std::size_t>(within_.relays)) out.relays[i].pc = rat::standby;
  return out;
}

bool sleep_model::unread(const world& in) {
  return std::ranges::any_of(
      in.writers, [](const writer& w) { return w.events == news::unread || w.events == news::under_way; });
}

bool sleep_model::alive(const world& in) {
  return std::ranges::any_of(in.relays, [](const relay& r) { return r.pc != rat::dead; });
}

bool sleep_model::silence(const world& in) {
  for (const writer& w : in.writers)
    if (w.pc == wat::ending && w.outer.ring) return false;
  return std::ranges::any_of(in.relays, [](const relay& r) {
    return r.pc == rat::asleep && !r.stream_cut && !r.sleep_cut && r.read == relay::reading::no &&
           !r.notified && !r.again;
  });
}

void sleep_model::next(const world& from, std::vector<step>& out) const {
  out.clear();
  for (std::size_t i = 0; i < from.writers.size(); ++i) {
    write(from, i, out);
    finish(from, i, out);
  }
  for (std::size_t i = 0; i < from.relays.size(); ++i) {
    lead(from, i, out);
    sleep(from, i, out);
    serve(from, i, out);
    notice(from, i, out);
    fail(from, i, out);
  }
}

// One transaction up to its end: inserts, each perhaps in a savepoint. PostgreSQL prepares none that notifies
// (writers that have turned notifications off live with the sweep, and are not in here).
void sleep_model::write(const world& from, std::size_t who, std::vector<step>& out) const {
  const auto add = adder(from, &world::writers, "writer", who, out);
  const writer& now = from.writers[who];
  if (now.pc != wat::open) return;
  const auto here = [](writer& w) -> scope& { return w.inside ? w.inner : w.outer; };
  const bool may_insert = now.inserts < within_.inserts[who];
  if (may_insert) {
    // Who has the lock already is given it again, whoever waits for it.
    if (now.outer.lock || now.inner.lock || !wanted(from)) {
      add(free_to, "inserts and shares SLEEP", [&](world&, writer& w) {
        ++w.inserts;
        here(w).event = here(w).lock = true;
      });
    } else {
      add(free_to, "inserts and is refused SLEEP", [&](world&, writer& w) {
        ++w.inserts;
        here(w).event = true;
        here(w).ring = with_ != flaw::refused_says_nothing;
      });
    }
  }
  if (within_.savepoints && !now.inside && may_insert)
    add(free_to, "sets a savepoint", [](world&, writer& w) { w.inside = true; });
  if (now.inside) {
    add(free_to, "releases the savepoint", [](world&, writer& w) {
      w.outer.merge(w.inner);
      w.inner = {};
      w.inside = false;
    });
    add(free_to, "rolls back to the savepoint", [](world&, writer& w) {
      w.inner = {};
      w.inside = false;
    });
  } else if (within_.prepares && now.outer.event && !now.outer.ring) {
    add(free_to, "prepares", [](world&, writer& w) { w.pc = wat::prepared; });
  }
}

// Its end. Others see a commit first; then go its lock and its notification, whichever is first.
void sleep_model::finish(const world& from, std::size_t who, std::vector<step>& out) const {
  const auto add = adder(from, &world::writers, "writer", who, out);
  const writer& now = from.writers[who];
  const auto appear = [](writer& w) {
    w.events = news::unread;
    w.pc = w.outer.lock || w.outer.ring ? wat::ending : wat::done;
  };
  if (now.pc == wat::prepared || (now.pc == wat::open && now.inserts > 0)) {
    add(free_to, "rolls back", [](world&, writer& w) {
      w = {};
      w.pc = wat::done;
    });
    if (now.outer.event && !now.inside)
      add(free_to, "commits", [&](world&, writer& w) {
        w.inserts = 0;
        w.outer.event = false;
        if (with_ == flaw::unlocks_before_visible && w.outer.lock) {
          w.outer.lock = false;
          w.pc = wat::unlocked;
        } else {
          appear(w);
        }
      });
  }
  if (now.pc == wat::unlocked) add(fair, "is seen to have committed", [&](world&, writer& w) { appear(w); });
  if (now.pc != wat::ending) return;
  if (now.outer.lock)
    add(fair, "lets SLEEP go", [](world&, writer& w) {
      w.outer.lock = false;
      if (!w.outer.ring) w.pc = wat::done;
    });
  if (now.outer.ring)
    add(fair, "notifies", [](world& in, writer& w) {
      for (relay& r : in.relays)
        if (r.lead && !r.stream_cut) r.notified = true;
      w.outer.ring = false;
      if (!w.outer.lock) w.pc = wat::done;
    });
}

// The session that leads and listens. What a read sees is settled in one step; its answer takes its time.
void sleep_model::lead(const world& from, std::size_t who, std::vector<step>& out) const {
  const auto add = adder(from, &world::relays, "relay", who, out);
  const relay& now = from.relays[who];
  if (now.pc == rat::standby && !led(from))
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
  const auto see = [](writer& w) {
    if (w.events == news::unread) w.events = news::under_way;
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
    if (from.writers[i].events == news::unread)
      add(free_to, "reads, and stops short behind one writer", [&](world& in, relay& r) {
        begin(r);
        r.stops_short = true;
        see(in.writers[i]);
      });
}

void sleep_model::answer(world& in, relay& by) const {
  for (writer& w : in.writers)
    if (w.events == news::under_way) w.events = news::read;
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
    if (!now.sleep_cut && !wanted(from) && !shared(from))
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
  if (!shared(from) && !held(from)) {
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
    if (r.lead && !r.stream_cut) forget(in);
    leave_stream(r);
    leave_sleep(r);
    r.pc = rat::dead;
  });
  if (now.lead && !now.stream_cut)
    add(free_to, "loses its stream", [](world& in, relay& r) {
      ++in.faults;
      forget(in);
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

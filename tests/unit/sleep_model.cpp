// sleep_model: writers, and what is told of a world.
#include "sleep_model.hpp"

#include <algorithm>
#include <utility>

#include "sleep_model_steps.hpp"

namespace outboxd::test {

using namespace sleep_steps;

namespace {

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

std::uint64_t key_of(const scope& of, std::size_t shards) {
  const auto bits = static_cast<unsigned>(shards);
  return packed().add(bits, of.locks.to_ulong(), of.events.to_ulong(), of.rings.to_ulong()).number();
}

std::uint64_t key_of(const writer& of, std::size_t shards) {
  packed out;
  out.add(1, of.inside).add(2, of.inserts, of.tried).add(3, of.pc);
  out.add(static_cast<unsigned>(3 * shards), key_of(of.outer, shards), key_of(of.inner, shards));
  for (std::size_t i = 0; i < shards; ++i) out.add(2, of.events[i]);
  return out.number();
}

std::uint64_t key_of(const relay& of) {
  return packed()
      .add(1, of.lead, of.stream_cut, of.sleep_cut, of.ghost_lead, of.stops_short, of.notified, of.again)
      .add(2, of.sleep, of.ghost_sleep, of.read)
      .add(3, of.pc)
      .number();
}

// For the way that is shown.
constexpr std::array inserts{"inserts", "inserts into shard 1", "inserts into shard 2"};
constexpr std::array shares{"shares SLEEP", "shares SLEEP of shard 1", "shares SLEEP of shard 2"};
constexpr std::array is_refused{"is refused SLEEP", "is refused SLEEP of shard 1",
                                "is refused SLEEP of shard 2"};
constexpr std::array lets_go{"lets SLEEP go", "lets SLEEP of shard 1 go", "lets SLEEP of shard 2 go"};

}  // namespace

void sleep_model::scope::merge(const scope& inner) {
  locks |= inner.locks;
  events |= inner.events;
  rings |= inner.rings;
}

// Of one shard, 22 bits are a writer's; of three, 32.
sleep_model::key sleep_model::key_of(const world& of) const {
  packed writers;
  for (const writer& one : of.writers) writers.add(32, test::key_of(one, within_.shards));
  std::array<std::uint64_t, most_shards> relays{};
  for (std::size_t i = 0; i < relays.size(); ++i) relays[i] = test::key_of(of.relays[i]);
  if (within_.shards == 1) std::ranges::sort(relays);
  return {writers.number(), packed().add(16, relays[0], relays[1], relays[2]).add(2, of.faults).number()};
}

sleep_model::world sleep_model::begin() const {
  world out;
  const auto relays = within_.shards > 1 ? within_.shards : static_cast<std::size_t>(within_.relays);
  for (std::size_t i = 0; i < relays; ++i) {
    if (within_.shards > 1) out.relays[i].shard = static_cast<std::uint8_t>(i);
    out.relays[i].pc = rat::standby;
  }
  return out;
}

bool sleep_model::unread(const world& in, std::size_t shard) {
  return std::ranges::any_of(in.writers, [shard](const writer& w) {
    return w.events[shard] == news::unread || w.events[shard] == news::under_way;
  });
}

bool sleep_model::alive(const world& in, std::size_t shard) {
  return std::ranges::any_of(in.relays,
                             [shard](const relay& r) { return r.shard == shard && r.pc != rat::dead; });
}

bool sleep_model::silence(const world& in, std::size_t shard) {
  for (const writer& w : in.writers)
    if (w.pc == wat::ending && w.outer.rings[shard]) return false;
  return std::ranges::any_of(in.relays, [shard](const relay& r) {
    return r.shard == shard && r.pc == rat::asleep && !r.stream_cut && !r.sleep_cut &&
           r.read == relay::reading::no && !r.notified && !r.again;
  });
}

bool sleep_model::asleep(const world& in) {
  for (std::size_t shard = 0; shard < most_shards; ++shard)
    if (silence(in, shard) &&
        std::ranges::any_of(in.writers, [shard](const writer& w) { return w.events[shard] != news::none; }))
      return true;
  return false;
}

bool sleep_model::misses(const world& in) {
  for (std::size_t shard = 0; shard < most_shards; ++shard)
    if (silence(in, shard) && unread(in, shard)) return true;
  return false;
}

bool sleep_model::all_read(const world& in) {
  for (std::size_t shard = 0; shard < most_shards; ++shard)
    if (unread(in, shard) && alive(in, shard)) return false;
  return true;
}

void sleep_model::next(const world& from, std::vector<step>& out) const {
  out.clear();
  for (std::size_t i = 0; i < from.writers.size(); ++i) {
    write(from, i, out);
    try_next(from, i, out);
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
  const bool may_insert = now.inserts < within_.inserts[who];
  for (std::size_t shard = 0; may_insert && shard < within_.shards; ++shard)
    add(free_to, inserts[shard], [&](world&, writer& w) {
      ++w.inserts;
      w.here().events.set(shard);
      w.pc = wat::trying;
    });
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
  } else if (within_.prepares && now.outer.events.any() && now.outer.rings.none()) {
    add(free_to, "prepares", [](world&, writer& w) { w.pc = wat::prepared; });
  }
}

// The default of tx: it takes SLEEP of one shard after the other, and rings for all when one is refused.
void sleep_model::try_next(const world& from, std::size_t who, std::vector<step>& out) const {
  const auto add = adder(from, &world::writers, "writer", who, out);
  const writer& now = from.writers[who];
  if (now.pc != wat::trying) return;
  const std::size_t shard = now.tried;
  const auto end = [](writer& w) {
    w.tried = 0;
    w.pc = wat::open;
  };
  // Who has the lock already is given it again, whoever waits for it.
  if (now.locks(shard) || !wanted(from, shard)) {
    add(free_to, shares[shard], [&](world&, writer& w) {
      if (!w.locks(shard)) w.here().locks.set(shard);
      if (++w.tried == within_.shards || with_ == flaw::one_answer_for_all) end(w);
    });
  } else {
    add(free_to, is_refused[shard], [&](world&, writer& w) {
      if (with_ == flaw::rings_for_one)
        w.here().rings.set(shard);
      else if (with_ != flaw::refused_says_nothing)
        for (std::size_t i = 0; i < within_.shards; ++i) w.here().rings.set(i);
      end(w);
    });
  }
}

// Its end. Others see a commit first, in all shards at once; then go its locks and its notification,
// whichever is first.
void sleep_model::finish(const world& from, std::size_t who, std::vector<step>& out) const {
  const auto add = adder(from, &world::writers, "writer", who, out);
  const writer& now = from.writers[who];
  const auto end_if_over = [](writer& w) {
    w.pc = w.outer.locks.any() || w.outer.rings.any() ? wat::ending : wat::done;
  };
  const auto appear = [end_if_over](writer& w) {
    for (std::size_t i = 0; i < most_shards; ++i)
      if (w.outer.events[i]) w.events[i] = news::unread;
    w.outer.events.reset();
    end_if_over(w);
  };
  if (now.pc == wat::prepared || (now.pc == wat::open && now.inserts > 0)) {
    add(free_to, "rolls back", [](world&, writer& w) {
      w = {};
      w.pc = wat::done;
    });
    if (now.outer.events.any() && !now.inside)
      add(free_to, "commits", [&](world&, writer& w) {
        w.inserts = 0;
        if (with_ == flaw::unlocks_before_visible && w.outer.locks.any()) {
          w.outer.locks.reset();
          w.pc = wat::unlocked;
        } else {
          appear(w);
        }
      });
  }
  if (now.pc == wat::unlocked) add(fair, "is seen to have committed", [&](world&, writer& w) { appear(w); });
  if (now.pc != wat::ending) return;
  for (std::size_t shard = 0; shard < within_.shards; ++shard)
    if (now.outer.locks[shard])
      add(fair, lets_go[shard], [&](world&, writer& w) {
        w.outer.locks.reset(shard);
        end_if_over(w);
      });
  if (now.outer.rings.any())
    add(fair, "notifies", [&](world& in, writer& w) {
      for (relay& r : in.relays)
        if (w.outer.rings[r.shard] && r.lead && !r.stream_cut) r.notified = true;
      w.outer.rings.reset();
      end_if_over(w);
    });
}

}  // namespace outboxd::test

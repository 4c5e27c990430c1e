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

std::uint64_t key_of(const scope& of) {
  return packed().add(1, of.lock, of.event, of.ring).number();
}

std::uint64_t key_of(const writer& of, std::size_t shards) {
  packed out;
  out.add(1, of.inside).add(2, of.inserts).add(3, of.pc);
  for (std::size_t i = 0; i < shards; ++i)
    out.add(2, of.events[i]).add(3, key_of(of.outer[i]), key_of(of.inner[i]));
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
constexpr std::array inserts_and_shares{"inserts and shares SLEEP",
                                        "inserts into shard 1 and shares its SLEEP"};
constexpr std::array inserts_and_is_refused{"inserts and is refused SLEEP",
                                            "inserts into shard 1 and is refused its SLEEP"};
constexpr std::array lets_go{"lets SLEEP go", "lets SLEEP of shard 1 go"};
constexpr std::array notifies{"notifies", "notifies shard 1"};

}  // namespace

void sleep_model::scope::merge(const scope& inner) {
  lock = lock || inner.lock;
  event = event || inner.event;
  ring = ring || inner.ring;
}

std::uint64_t sleep_model::key_of(const world& of) const {
  const auto first = test::key_of(of.writers[0], within_.shards);
  const auto one = test::key_of(of.relays[0]);
  const auto other = test::key_of(of.relays[1]);
  if (within_.shards > 1) return packed().add(22, first).add(16, one, other).add(2, of.faults).number();
  const auto second = test::key_of(of.writers[1], within_.shards);
  const auto [low, high] = std::minmax({one, other});
  return packed().add(14, first, second).add(16, low, high).add(2, of.faults).number();
}

sleep_model::world sleep_model::begin() const {
  world out;
  for (std::size_t i = 0; i < out.relays.size(); ++i) {
    if (within_.shards > 1) out.relays[i].shard = static_cast<std::uint8_t>(i);
    if (within_.shards > 1 || i < static_cast<std::size_t>(within_.relays)) out.relays[i].pc = rat::standby;
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
    if (w.pc == wat::ending && w.outer[shard].ring) return false;
  return std::ranges::any_of(in.relays, [shard](const relay& r) {
    return r.shard == shard && r.pc == rat::asleep && !r.stream_cut && !r.sleep_cut &&
           r.read == relay::reading::no && !r.notified && !r.again;
  });
}

bool sleep_model::asleep(const world& in) {
  for (std::size_t shard = 0; shard < in.relays.size(); ++shard)
    if (silence(in, shard) &&
        std::ranges::any_of(in.writers, [shard](const writer& w) { return w.events[shard] != news::none; }))
      return true;
  return false;
}

bool sleep_model::misses(const world& in) {
  return (silence(in, 0) && unread(in, 0)) || (silence(in, 1) && unread(in, 1));
}

bool sleep_model::all_read(const world& in) {
  return (!unread(in, 0) || !alive(in, 0)) && (!unread(in, 1) || !alive(in, 1));
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
  const bool may_insert = now.inserts < within_.inserts[who];
  for (std::size_t shard = 0; may_insert && shard < within_.shards; ++shard) {
    const auto here = [shard](writer& w) -> scope& { return (w.inside ? w.inner : w.outer)[shard]; };
    // Who has the lock already is given it again, whoever waits for it.
    if (with_ == flaw::one_answer_for_all && now.locks(1 - shard)) {
      add(free_to, "inserts into the other shard, too", [&](world&, writer& w) {
        ++w.inserts;
        here(w).event = true;
      });
    } else if (now.locks(shard) || !wanted(from, shard)) {
      add(free_to, inserts_and_shares[shard], [&](world&, writer& w) {
        ++w.inserts;
        here(w).event = here(w).lock = true;
      });
    } else {
      add(free_to, inserts_and_is_refused[shard], [&](world&, writer& w) {
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
      for (std::size_t i = 0; i < w.outer.size(); ++i) w.outer[i].merge(w.inner[i]);
      w.inner = {};
      w.inside = false;
    });
    add(free_to, "rolls back to the savepoint", [](world&, writer& w) {
      w.inner = {};
      w.inside = false;
    });
  } else if (within_.prepares && now.has(&scope::event) && !now.has(&scope::ring)) {
    add(free_to, "prepares", [](world&, writer& w) { w.pc = wat::prepared; });
  }
}

// Its end. Others see a commit first, in all shards at once; then go its locks and its notifications,
// whichever is first.
void sleep_model::finish(const world& from, std::size_t who, std::vector<step>& out) const {
  const auto add = adder(from, &world::writers, "writer", who, out);
  const writer& now = from.writers[who];
  const auto end_if_over = [](writer& w) {
    w.pc = w.has(&scope::lock) || w.has(&scope::ring) ? wat::ending : wat::done;
  };
  const auto appear = [end_if_over](writer& w) {
    for (std::size_t i = 0; i < w.outer.size(); ++i)
      if (std::exchange(w.outer[i].event, false)) w.events[i] = news::unread;
    end_if_over(w);
  };
  if (now.pc == wat::prepared || (now.pc == wat::open && now.inserts > 0)) {
    add(free_to, "rolls back", [](world&, writer& w) {
      w = {};
      w.pc = wat::done;
    });
    if (now.has(&scope::event) && !now.inside)
      add(free_to, "commits", [&](world&, writer& w) {
        w.inserts = 0;
        if (with_ == flaw::unlocks_before_visible && w.has(&scope::lock)) {
          for (scope& one : w.outer) one.lock = false;
          w.pc = wat::unlocked;
        } else {
          appear(w);
        }
      });
  }
  if (now.pc == wat::unlocked) add(fair, "is seen to have committed", [&](world&, writer& w) { appear(w); });
  if (now.pc != wat::ending) return;
  for (std::size_t shard = 0; shard < within_.shards; ++shard) {
    if (now.outer[shard].lock)
      add(fair, lets_go[shard], [&](world&, writer& w) {
        w.outer[shard].lock = false;
        end_if_over(w);
      });
    if (now.outer[shard].ring)
      add(fair, notifies[shard], [&](world& in, writer& w) {
        for (relay& r : in.relays)
          if (r.shard == shard && r.lead && !r.stream_cut) r.notified = true;
        w.outer[shard].ring = false;
        end_if_over(w);
      });
  }
}

}  // namespace outboxd::test

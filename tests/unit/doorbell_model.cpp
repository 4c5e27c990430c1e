#include "doorbell_model.hpp"

#include <algorithm>

namespace outboxd::test {
namespace {

using wat = writer::at;
using rat = relay::at;

// Somebody holds MUTE exclusively or waits for it, and so has QUEUE.
bool muted(const world& in) {
  for (const relay& one : in.relays)
    if (one.pc == rat::queueing || one.pc == rat::hot || one.lingers) return true;
  return false;
}

bool may_share_mute(const world& in, const writer& by) {
  return by.outer.mute || by.inner.mute || !muted(in);
}

bool may_share_skip(const world& in, const writer& by) {
  if (by.outer.skip || by.inner.skip) return true;
  for (const relay& one : in.relays)
    if (one.has_skip) return false;
  return true;
}

bool mute_is_shared(const world& in) {
  for (const writer& one : in.writers)
    if (one.outer.mute || one.inner.mute) return true;
  for (const relay& one : in.relays)
    if (one.has_skip || one.lingers) return true;  // who finds the silence over shares it, too
  return false;
}

bool skip_is_taken(const world& in) {
  for (const writer& one : in.writers)
    if (one.outer.skip || one.inner.skip) return true;
  for (const relay& one : in.relays)
    if (one.has_skip) return true;
  return false;
}

std::uint64_t key_of(const scope& of) {
  return (of.mute ? 1U : 0U) | (of.skip ? 2U : 0U) | (of.event ? 4U : 0U) | (of.notify ? 8U : 0U);
}

std::uint64_t key_of(const writer& of) {
  return static_cast<std::uint64_t>(of.pc) | std::uint64_t{of.statements} << 3 |
         (of.inside ? 1ULL << 5 : 0U) | (of.unseen ? 1ULL << 6 : 0U) | key_of(of.outer) << 7 |
         key_of(of.inner) << 11;
}

std::uint64_t key_of(const relay& of) {
  return static_cast<std::uint64_t>(of.pc) | (of.owes ? 1U << 3 : 0U) | (of.listens ? 1U << 4 : 0U) |
         (of.notified ? 1U << 5 : 0U) | (of.has_skip ? 1U << 6 : 0U) | (of.looked_first ? 1U << 7 : 0U) |
         (of.lingers ? 1U << 8 : 0U);
}

}  // namespace

std::uint64_t key_of(const world& of) {
  auto [w0, w1] = std::minmax({key_of(of.writers[0]), key_of(of.writers[1])});
  auto [r0, r1] = std::minmax({key_of(of.relays[0]), key_of(of.relays[1])});
  return w0 | w1 << 15 | r0 << 30 | r1 << 39 | (of.crashed ? 1ULL << 48 : 0U);
}

void scope::merge(const scope& inner) {
  mute = mute || inner.mute;
  skip = skip || inner.skip;
  event = event || inner.event;
  notify = notify || inner.notify;
}

world doorbell_model::begin() const {
  world out;
  for (std::size_t i = 0; i < out.writers.size(); ++i)
    if (i >= static_cast<std::size_t>(within_.writers)) out.writers[i].pc = wat::done;
  for (std::size_t i = 0; i < out.relays.size(); ++i)
    if (i >= static_cast<std::size_t>(within_.relays)) out.relays[i].pc = rat::dead;
  return out;
}

void doorbell_model::look(world& in) {
  for (writer& one : in.writers) one.unseen = false;
}

bool doorbell_model::waiting(const world& in) {
  for (const writer& one : in.writers)
    if (one.unseen) return true;
  return false;
}

bool doorbell_model::alive(const world& in) {
  for (const relay& one : in.relays)
    if (one.pc != rat::dead) return true;
  return false;
}

bool doorbell_model::at_rest(const world& in) const {
  for (const writer& one : in.writers)
    if (one.pc != wat::done) return false;
  for (const relay& one : in.relays)
    if (one.lingers || (one.pc != rat::dead && (one.pc != rat::sleeping || one.notified || !one.listens)))
      return false;
  return true;
}

std::vector<step> doorbell_model::next(const world& from) const {
  std::vector<step> out;
  for (std::size_t i = 0; i < from.writers.size(); ++i) write(from, i, out);
  for (std::size_t i = 0; i < from.relays.size(); ++i) {
    if (from.relays[i].lingers) {
      out.push_back({"relay", i, "is missed by the server", from});
      out.back().to.relays[i].lingers = false;
    }
    if (from.relays[i].pc != rat::dead) {
      listen(from, i, out);
      run(from, i, out);
    }
    if (within_.crashes) crash(from, i, out);
  }
  return out;
}

// One transaction: statements, each perhaps in a savepoint, and its end. The steps of the trigger are steps of their own.
void doorbell_model::write(const world& from, std::size_t who, std::vector<step>& out) const {
  const auto add = [&](const char* what, auto&& change) {
    step& one = out.emplace_back(step{"writer", who, what, from});
    change(one.to, one.to.writers[who]);
  };
  const writer& now = from.writers[who];
  const auto here = [](writer& w) -> scope& { return w.inside ? w.inner : w.outer; };
  const auto rung = [&](writer& w) {
    here(w).notify = true;
    w.pc = wat::between;
  };
  switch (now.pc) {
    case wat::between:
      if (now.statements < within_.statements)
        add("inserts", [&](world&, writer& w) {
          ++w.statements;
          here(w).event = true;
          w.pc = wat::mute;
        });
      if (within_.savepoints && !now.inside && now.statements < within_.statements)
        add("sets a savepoint", [](world&, writer& w) { w.inside = true; });
      if (now.inside) {
        add("releases the savepoint", [](world&, writer& w) {
          w.outer.merge(w.inner);
          w.inner = {};
          w.inside = false;
        });
        add("rolls back to the savepoint", [](world&, writer& w) {
          w.inner = {};
          w.inside = false;
        });
        break;
      }
      add("rolls back", [](world&, writer& w) {
        w.outer = {};
        w.pc = wat::done;
      });
      add("commits", [](world&, writer& w) {
        w.unseen = w.outer.event;
        w.pc = wat::visible;
      });
      break;
    case wat::mute:
      add("tries MUTE", [&](world& in, writer& w) {
        if (may_share_mute(in, w)) {
          here(w).mute = true;
          rung(w);
        } else {
          w.pc = wat::skip;
        }
      });
      break;
    case wat::skip:
      add("tries SKIP", [&](world& in, writer& w) {
        if (!may_share_skip(in, w)) {
          rung(w);
        } else {
          here(w).skip = true;
          w.pc = with_ == flaw::mute_tried_once ? wat::between : wat::mute_again;
        }
      });
      break;
    case wat::mute_again:
      add("tries MUTE again", [&](world& in, writer& w) {
        if (may_share_mute(in, w)) {
          here(w).mute = true;
          rung(w);
        } else {
          w.pc = wat::between;
        }
      });
      break;
    case wat::visible:  // its locks go after its commit is visible
      add("ends", [](world& in, writer& w) {
        for (relay& one : in.relays)
          if (w.outer.notify && one.listens && one.pc != rat::dead) one.notified = true;
        w.outer = {};
        w.pc = wat::done;
      });
      break;
    case wat::done:
      break;
  }
}

// The session that listens: a notification arrives, or the session is lost and there again.
void doorbell_model::listen(const world& from, std::size_t who, std::vector<step>& out) const {
  const auto add = [&](const char* what, auto&& change) {
    step& one = out.emplace_back(step{"relay", who, what, from});
    change(one.to, one.to.relays[who]);
  };
  const relay& now = from.relays[who];
  if (now.notified)
    add("is notified and looks", [](world& in, relay& r) {
      r.notified = false;
      look(in);
    });
  if (now.listens) {
    if (within_.lost_sessions)
      add("loses the session that listens", [](world&, relay& r) {
        r.listens = false;
        r.notified = false;
        r.has_skip = false;
      });
    return;
  }
  add("listens again", [&](world&, relay& r) {
    r.listens = true;
    if (with_ == flaw::no_look_on_listening) return;
    r.owes = true;
    if (r.pc == rat::sleeping || r.pc == rat::last_look) r.pc = rat::cooling;
  });
}

void doorbell_model::run(const world& from, std::size_t who, std::vector<step>& out) const {
  const auto add = [&](const char* what, auto&& change) {
    step& one = out.emplace_back(step{"relay", who, what, from});
    change(one.to, one.to.relays[who]);
  };
  const relay& now = from.relays[who];
  const auto ask = [&] {
    if (muted(from)) {
      add("asks for MUTE and is refused", [](world&, relay& r) { r.pc = rat::alert; });
    } else {
      add("asks for MUTE", [](world&, relay& r) {
        r.pc = rat::queueing;
        r.owes = true;
      });
    }
  };
  const auto look_around = [&] {
    if (waiting(from)) add("looks", [](world& in, relay&) { look(in); });
  };
  const auto lose_lock = [&] {
    if (!within_.lost_sessions) return;
    add("loses the session with the lock", [&](world&, relay& r) {
      r.pc = rat::alert;
      r.lingers = true;
      if (with_ == flaw::silent_in_lost_session) r.owes = false;
    });
  };
  switch (now.pc) {
    case rat::sleeping:
      ask();
      add("wakes up by a sweep", [](world& in, relay& r) {
        look(in);
        r.pc = rat::alert;
      });
      break;
    case rat::alert:
      look_around();
      ask();
      add("finds nothing any more", [](world&, relay& r) { r.pc = r.owes ? rat::cooling : rat::sleeping; });
      break;
    case rat::queueing:
      look_around();
      if (!mute_is_shared(from)) add("gets MUTE", [](world&, relay& r) { r.pc = rat::hot; });
      add("waits no longer for MUTE", [&](world&, relay& r) {
        if (with_ == flaw::forgets_timeout) r.owes = false;
        r.pc = rat::alert;
      });
      lose_lock();
      break;
    case rat::hot:
      look_around();
      lose_lock();
      if (with_ == flaw::skip_before_release && !now.looked_first) {
        if (!skip_is_taken(from))
          add("finds the silence over", [](world&, relay& r) { r.looked_first = true; });
        break;
      }
      add("gives up MUTE", [&](world&, relay& r) {
        r.pc = r.looked_first ? rat::last_look : rat::cooling;
        r.looked_first = false;
      });
      break;
    case rat::cooling:
      ask();
      if (!now.listens) break;  // its session sweeps
      if (with_ == flaw::look_before_skip && !now.looked_first) {
        add("looks first", [](world& in, relay& r) {
          look(in);
          r.looked_first = true;
        });
      } else if (with_ == flaw::no_skip) {
        add("skips SKIP", [](world&, relay& r) { r.pc = rat::last_look; });
      } else if (!skip_is_taken(from) && (with_ == flaw::mute_not_checked || !muted(from))) {
        add("finds the silence over", [](world&, relay& r) {
          r.has_skip = true;
          r.pc = rat::last_look;
        });
      }
      break;
    case rat::last_look:
      if (!now.listens) break;
      add("looks a last time", [](world& in, relay& r) {
        if (!r.looked_first) look(in);
        r.looked_first = false;
        r.has_skip = false;
        r.owes = false;
        r.pc = rat::sleeping;
      });
      break;
    case rat::dead:
      break;
  }
}

// Its sessions go, and their locks with them. It may come back.
void doorbell_model::crash(const world& from, std::size_t who, std::vector<step>& out) const {
  if (who >= static_cast<std::size_t>(within_.relays)) return;
  step one{"relay", who, "is killed", from};
  relay& it = one.to.relays[who];
  const bool dead = it.pc == rat::dead;
  const bool lingers = it.lingers || it.pc == rat::queueing || it.pc == rat::hot;
  it = relay{};
  it.lingers = lingers;
  if (!dead) {
    it.pc = rat::dead;
    it.owes = it.listens = false;
    one.to.crashed = true;
  }
  if (dead) one.what = "starts";
  out.push_back(std::move(one));
}

}  // namespace outboxd::test

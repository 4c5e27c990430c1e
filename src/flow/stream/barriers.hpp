// barriers: the reasons why events of an aggregate, of a type, or all events must not be sent.
#pragma once

#include <cstddef>

#include "flow/stream/dead_aggregates.hpp"
#include "flow/stream/held_aggregates.hpp"
#include "flow/stream/pauses.hpp"

namespace outboxd::flow {

struct barriers {
  explicit barriers(std::size_t most_held) : held(most_held) {}

  held_aggregates held;  // aggregates blocked by an event that backs off or is parked
  dead_aggregates dead;  // aggregates blocked by a dead event, if dead events block later ones
  pauses paused;

  bool hold(aggregate which) const { return held.holds(which) || dead.holds(which); }
  std::size_t aggregates() const {
    return held.size() + dead.count_if([this](aggregate one) { return !held.knows(one); });
  }
  void clear() {
    held.clear();
    dead = {};
    paused = {};
  }
};

}  // namespace outboxd::flow

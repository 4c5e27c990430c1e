// stream_state: the state that the parts of a stream share: its phase, the events in memory, and what blocks
// them.
#pragma once

#include <string>
#include <string_view>

#include "flow/dispatch/lanes.hpp"
#include "flow/limits.hpp"
#include "flow/stream/barriers.hpp"
#include "flow/stream/notices.hpp"
#include "flow/stream/server_clock.hpp"
#include "flow/stream/step_observer.hpp"
#include "flow/stream/unsettled.hpp"
#include "flow/stream/write_queue.hpp"

namespace outboxd::flow {

enum class stream_phase : std::uint8_t {
  idle,      // another relay leads the shard
  loading,   // leads; loads obstacles and the events left by a former leader before it sends
  running,   // reads, sends, marks
  draining,  // gives up the lead: waits for confirms and writes the outcomes
};

struct stream_state {
  lanes& pool;
  stream_limits limits;
  const observer tell;
  const step_observers steps;

  stream_phase phase = stream_phase::idle;
  unsettled events{};
  barriers blocked{limits.most_held};
  flow::server_clock server_clock{};
  int client = 0;                // its number in the lanes
  clock::time_point asked_at{};  // when the current or the last round trip began

  clock::time_point now() const { return pool.now(); }
  bool runs() const { return phase == stream_phase::running; }

  destination destination_of(slot which) const;
  destination destination_of(const event& one, const routed* route) const;
  // The destination of the event's message; for a dead letter, the dead-letter exchange.
  destination target_of(slot which) const;
  // True if one of the event's types or its destination is paused.
  bool is_paused(slot which) const;

  // sent_at: of `acked`.
  void trace(step what, slot which, clock::time_point sent_at = {}) const {
    for (step_observer* const one : steps)
      if (one->listens(what)) say_step(*one, what, which, sent_at);
  }
  void say_step(step_observer& listener, step what, slot which, clock::time_point sent_at) const;
  // Reports the row that PostgreSQL refuses, if there is one.
  void say_stuck(const write_queue& what, std::string_view trouble, const std::string& reason) const;
};

}  // namespace outboxd::flow

// stream_state: what the parts of a stream share: its phase, the events in memory, and what blocks them.
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
  idle,      // somebody else leads the shard
  loading,   // leads; loads obstacles and the rest of a former leader before it sends
  running,   // reads, sends, marks
  draining,  // gives the lead up: waits for confirms and writes the outcomes
};

struct stream_state {
  lanes& pool;
  stream_limits limits;
  const observer tell;
  step_observer* const steps;  // may be null

  stream_phase phase = stream_phase::idle;
  unsettled events{};
  barriers blocked{limits.most_held};
  flow::server_clock server_clock{};
  int client = 0;                // its number at the lanes
  clock::time_point asked_at{};  // when the round trip began that is under way or has just ended

  clock::time_point now() const { return pool.now(); }
  bool runs() const { return phase == stream_phase::running; }

  destination destination_of(slot which) const;
  destination destination_of(const event& one, const routed* route) const;
  // Where its message goes: a dead letter goes to the exchange for dead letters.
  destination target_of(slot which) const;
  // By type or by destination.
  bool is_paused(slot which) const;

  void trace(step what, slot which) const {
    if (steps != nullptr && steps->listens()) say_step(what, which);
  }
  void say_step(step what, slot which) const;
  // Tells of the row that PostgreSQL refuses, if there is one.
  void say_stuck(const write_queue& what, std::string_view trouble, const std::string& reason) const;
};

}  // namespace outboxd::flow

// server_clock: estimates the time on PostgreSQL's clock, the clock behind `created_at`.
#pragma once

#include <chrono>
#include <optional>

#include "core/event.hpp"
#include "flow/stream/write_queue.hpp"

namespace outboxd::flow {

// Pure. The server read its clock somewhere between request and answer, so the error is at most half the
// round trip, and grows over time as the clocks drift. The best estimate is kept.
class server_clock {
 public:
  void on_answer(clock::time_point asked, clock::time_point answered, timestamp told);
  // nullopt before the first answer.
  std::optional<timestamp> at(clock::time_point now) const;

 private:
  struct reading {
    clock::time_point when;
    timestamp told;
    clock::duration error;  // at the time of the reading
  };

  std::optional<reading> best_;
};

}  // namespace outboxd::flow

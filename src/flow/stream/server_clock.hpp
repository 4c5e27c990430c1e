// server_clock: estimates the time on PostgreSQL's clock, the clock behind `created_at`.
#pragma once

#include <chrono>
#include <optional>

#include "core/event.hpp"
#include "flow/stream/write_queue.hpp"

namespace outboxd::flow {

// Pure. The server has read its clock at some time between a question and its answer; so the error is half
// the time between them, and grows with its age, because the clocks drift apart. The best answer is kept.
class server_clock {
 public:
  void on_answer(clock::time_point asked, clock::time_point answered, timestamp told);
  // Nothing before the first answer.
  std::optional<timestamp> at(clock::time_point now) const;

 private:
  struct reading {
    clock::time_point when;
    timestamp told;
    clock::duration error;  // when it was read
  };

  std::optional<reading> best_;
};

}  // namespace outboxd::flow

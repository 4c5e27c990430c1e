// step_observer: the interface that is notified of each step of each event, for tracing; usually there is
// none.
#pragma once

#include <cstdint>

#include "core/event.hpp"
#include "flow/dispatch/destination.hpp"

namespace outboxd::flow {

enum class step : std::uint8_t {
  read,         // from the table, with its texts
  sent,         // to the broker
  letter_sent,  // its dead letter
  acked,
  returned,
  nacked,
  interrupted,  // its channel or connection ended before its confirm
  parked,       // it waits behind an earlier event of its aggregate
  marked,       // as published in the table
};

inline constexpr int no_lane = -1;

struct step_taken {
  step what;
  const event& of;
  destination to;
  int lane = no_lane;  // the last lane to which it was offered
};

class step_observer {
 public:
  // Checked before each step, so that steps cost little if nobody listens.
  bool listens() const { return listens_; }
  // References in `what` are valid only during the call.
  virtual void on_step(const step_taken& what) = 0;

 protected:
  ~step_observer() = default;
  void listen(bool yes) { listens_ = yes; }

 private:
  bool listens_ = false;
};

}  // namespace outboxd::flow

// step_observer: the interface that is notified of steps of each event, for logs and traces; usually there is
// none.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

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

// On PostgreSQL's clock, which the stream estimates.
struct confirm_times {
  timestamp sent;
  timestamp confirmed;
};

struct step_taken {
  step what;
  const event& of;
  destination to;
  int lane = no_lane;                    // that it was offered to last
  std::optional<confirm_times> times{};  // of `acked`
};

class step_observer {
 public:
  // Checked before each step, so that steps cost little if nobody listens.
  bool listens(step what) const { return (heard_ & bit_of(what)) != 0; }
  // References in `what` are valid only during the call.
  virtual void on_step(const step_taken& what) = 0;

 protected:
  ~step_observer() = default;
  void listen_to_all(bool yes) { heard_ = yes ? ~0U : 0U; }
  void listen_to(step one) { heard_ |= bit_of(one); }

 private:
  static constexpr unsigned bit_of(step what) { return 1U << static_cast<unsigned>(what); }

  unsigned heard_ = 0;  // a bit for each step
};

using step_observers = std::vector<step_observer*>;  // none is null

}  // namespace outboxd::flow

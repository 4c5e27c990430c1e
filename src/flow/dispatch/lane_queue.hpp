// lane_queue: what waits for a lane, in the order in which it may go.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "flow/dispatch/lane_client.hpp"

namespace outboxd::flow {

// Pure. Three queues. New events go first, but each eighth place is for one that had waited in the table, so
// that those end. Who travels alone and all others take turns, so that neither waits for all of the other.
class lane_queue {
 public:
  void add(queued_message one) { queue_of(one).push_back(one); }
  // What the lane has room for.
  struct room {
    bool idle = false;          // nothing is in flight, so that it may be one that travels alone
    bool for_returning = true;  // not too many of those are in flight
  };
  // The one that may go now, of a lane_client that may send.
  std::optional<queued_message> next(const room& now) const;
  // It goes.
  void take(const queued_message& one);
  std::size_t size() const { return fresh_.size() + returning_.size() + alone_.size(); }

  // Takes those of this lane_client away that `which` says, or all.
  std::vector<slot> withdraw(const lane_client& whose, const std::function<bool(slot)>& which);
  std::vector<queued_message> take_all();

 private:
  using queue = std::deque<queued_message>;
  queue& queue_of(const queued_message& one) {
    return one.alone ? alone_ : one.returning ? returning_ : fresh_;
  }
  std::array<queue*, 3> all() { return {&fresh_, &returning_, &alone_}; }

  queue fresh_;
  queue returning_;
  queue alone_;
  int fresh_in_a_row_ = 0;
  std::size_t others_left_ = 0;  // that go before the next of alone_
};

}  // namespace outboxd::flow

// lane_queue: messages that wait for a lane, in sending order.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "flow/dispatch/lane_client.hpp"

namespace outboxd::flow {

// Pure. Three queues. New events go first, but each eighth place is for a returning event, so that those
// finish, too. Events that travel alone take turns with all others, so that neither group waits for the whole
// other group.
class lane_queue {
 public:
  void add(queued_message one) { queue_of(one).push_back(one); }
  // The kinds of messages that the lane has room for.
  struct room {
    bool idle = false;          // nothing is in flight, so the next may travel alone
    bool for_returning = true;  // not too many of those are in flight
  };
  // The message to send now; its lane_client may send.
  std::optional<queued_message> next(const room& now) const;
  // It goes.
  void take(const queued_message& one);
  std::size_t size() const { return fresh_.size() + returning_.size() + alone_.size(); }

  // Removes messages of this lane_client: those that `which` selects, or all.
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

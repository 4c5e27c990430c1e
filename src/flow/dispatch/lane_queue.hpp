// lane_queue: the messages queued for a lane, in sending order.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "flow/dispatch/lane_client.hpp"

namespace outboxd::flow {

// Pure. There are three queues. New events are sent first, but every eighth message is a returning event, so
// that returning events make progress, too. Events that travel alone alternate with all others, so that
// neither group waits for the whole other group.
class lane_queue {
 public:
  void add(queued_message one) { queue_of(one).push_back(one); }
  // The kinds of messages that the lane can send now.
  struct room {
    bool idle = false;          // nothing is in flight, so the next message may travel alone
    bool for_returning = true;  // few enough returning events are in flight
  };
  // The message to send now, from a lane_client that may send.
  std::optional<queued_message> next(const room& now) const;
  // Removes a message that is about to be sent.
  void take(const queued_message& one);
  std::size_t size() const { return fresh_.size() + returning_.size() + alone_.size(); }

  // Removes the messages of this lane_client that `which` selects.
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
  std::size_t others_left_ = 0;  // messages to send before the next of alone_
};

}  // namespace outboxd::flow

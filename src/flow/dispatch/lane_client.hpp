// lane_client: the owner of events that lanes publish, as a lane sees it.
#pragma once

#include <string>

#include "flow/clock.hpp"
#include "flow/dispatch/broker.hpp"
#include "flow/dispatch/destination.hpp"
#include "flow/identity.hpp"

namespace outboxd::flow {

// The owner of events that lanes publish: a stream.
class lane_client {
 public:
  // Returns whether the owner may send at present. If not, nothing is sent until lanes::pump() is called.
  virtual bool is_sure_of_lead() const { return true; }
  // Returns whether the event was read recently enough to be sent, and would not overtake another event. If
  // not, the lane drops the event and calls on_stale.
  virtual bool is_fresh(slot, clock::time_point) const { return true; }
  virtual void on_stale(slot, clock::time_point) {}
  // Returns the message to send; the caller uses it at once. An error is the event's own fault: it cannot be
  // encoded as a message.
  virtual result<message> message_of(slot which) = 0;
  // The destination of that message. Valid until the lane_client changes.
  virtual destination target_of(slot which) const = 0;
  virtual void on_sent(slot which) = 0;
  virtual void on_outcome(slot which, const outcome& what, clock::time_point sent_at) = 0;
  // The message cannot be encoded, and nothing was sent.
  virtual void on_unencodable(slot which, std::string reason) = 0;
  // The message was sent, but its channel or connection ended before its confirm. alone: nothing else was in
  // flight on that connection. up_since: when the connection was opened.
  virtual void on_interrupted(slot which, const interruption& why, bool alone,
                              clock::time_point up_since) = 0;
  // Later messages on this lane were confirmed, but not this one; the lane stops waiting for its confirm.
  virtual void on_overdue(slot which) = 0;
  // The message was not sent, and has to be offered again.
  virtual void on_unsent(slot which) = 0;
  // A lane was connected or lost, or returned its messages; called after all of the above.
  virtual void on_lanes_changed() = 0;
  // Outcomes have arrived, so there may be something to write, and room to read.
  virtual void on_progress() = 0;

 protected:
  ~lane_client() = default;
};

// An event that is queued for a lane. An event travels alone if the broker may close the channel or
// connection because of it, so that no other event is in doubt then.
struct queued_message {
  lane_client* whose = nullptr;  // null: no client waits for the outcome any more
  slot which = no_slot;
  bool alone = false;
  bool returning = false;  // the event waited in the table, or follows one that did; new events are sent
                           // first
};

}  // namespace outboxd::flow

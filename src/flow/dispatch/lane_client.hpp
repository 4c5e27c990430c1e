// lane_client: the owner of events that lanes carry, as a lane sees it.
#pragma once

#include <string>

#include "flow/clock.hpp"
#include "flow/dispatch/broker.hpp"
#include "flow/dispatch/destination.hpp"
#include "flow/identity.hpp"

namespace outboxd::flow {

// The owner of events that lanes carry: a stream.
class lane_client {
 public:
  // Whether it may send at the moment; if not, nothing is sent until lanes::pump().
  virtual bool may_send() const { return true; }
  // Whether the event was read recently enough to be sent, and overtakes no other. If not, the lane drops it:
  // on_stale.
  virtual bool is_fresh(slot, clock::time_point) const { return true; }
  virtual void on_stale(slot, clock::time_point) {}
  // The message to send now; it is used at once. An error is the event's own fault: it cannot become a
  // message.
  virtual result<message> letter_of(slot which) = 0;
  // Where that message goes. Valid until the next change of the lane_client.
  virtual destination target_of(slot which) const = 0;
  virtual void on_sent(slot which) = 0;
  virtual void on_outcome(slot which, const outcome& what) = 0;
  // It cannot be encoded, and nothing was sent.
  virtual void on_unencodable(slot which, std::string reason) = 0;
  // It was sent, but its channel or connection ended before its confirm. alone: nothing else was in flight
  // there. The connection had been there since up_since.
  virtual void on_interrupted(slot which, const interruption& why, bool alone,
                              clock::time_point up_since) = 0;
  // Later messages on this lane are confirmed, but not this one; the lane no longer waits for its confirm.
  virtual void on_overdue(slot which) = 0;
  // It was not sent, and has to be offered again.
  virtual void on_unsent(slot which) = 0;
  // A lane has come up or gone down, or given back what it had, after all of the above.
  virtual void on_lanes_changed() = 0;
  // Outcomes have come: there may be something to write, and room to read.
  virtual void on_progress() = 0;

 protected:
  ~lane_client() = default;
};

// An event that a lane is to carry. It travels alone if the broker may close the channel or the connection
// over it: then no other event is in doubt.
struct queued_message {
  lane_client* whose = nullptr;  // null: nobody waits for its outcome any more
  slot which = no_slot;
  bool alone = false;
  bool returning = false;  // it had waited in the table, or follows an event that had; new events go first
};

}  // namespace outboxd::flow

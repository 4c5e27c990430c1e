// lane_client: whose events lanes carry, as a lane sees it.
#pragma once

#include <string>

#include "flow/clock.hpp"
#include "flow/dispatch/broker.hpp"
#include "flow/dispatch/destination.hpp"
#include "flow/identity.hpp"

namespace outboxd::flow {

// Whose events lanes carry: a stream.
class lane_client {
 public:
  // Whether it still has what it needs to send: else nothing is, until lanes::pump().
  virtual bool may_send() const { return true; }
  // Whether what is known of it is young enough to be sent, and it overtakes nobody. If not it is no longer
  // the lane's: on_stale.
  virtual bool is_fresh(slot, clock::time_point) const { return true; }
  virtual void on_stale(slot, clock::time_point) {}
  // The message to send now; it is used at once. An error is its own: it cannot become a message.
  virtual result<message> letter_of(slot which) = 0;
  // Where that message goes. Valid until the next change of the lane_client.
  virtual destination target_of(slot which) const = 0;
  virtual void on_sent(slot which) = 0;
  virtual void on_outcome(slot which, const outcome& what) = 0;
  // It cannot be encoded, and nothing was sent.
  virtual void on_unencodable(slot which, std::string reason) = 0;
  // Sent, and its channel or connection ended before its confirm. alone: nothing else was in flight there.
  // The connection had been there since up_since.
  virtual void on_interrupted(slot which, const interruption& why, bool alone,
                              clock::time_point up_since) = 0;
  // Others on this lane are confirmed, this one is not: nobody waits for it any longer.
  virtual void on_overdue(slot which) = 0;
  // Not sent: it has to be offered again.
  virtual void on_unsent(slot which) = 0;
  // A lane has come up or gone down, or given back what it had, after all of the above.
  virtual void on_lanes_changed() = 0;
  // Outcomes have come: there may be something to write, and room to read.
  virtual void on_progress() = 0;

 protected:
  ~lane_client() = default;
};

// An event that a lane is to carry. It travels alone if the broker may close the channel or the connection
// over it: then nobody else is in doubt.
struct queued_message {
  lane_client* whose = nullptr;  // null: nobody waits for its outcome any more
  slot which = no_slot;
  bool alone = false;
  bool returning = false;  // it had waited in the table, or is behind one that had: new ones go first
};

}  // namespace outboxd::flow

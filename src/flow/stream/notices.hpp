// notices: all notices of a leader and its stream, as one variant.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/event.hpp"
#include "flow/dispatch/destination.hpp"
#include "flow/stream/pauses.hpp"
#include "flow/stream/store.hpp"

namespace outboxd::flow {

// The actions of a leader that a lock holder or a flood of notifications can prevent.
enum class keeps_from : std::uint8_t {
  leading,   // a standby: cannot take the lead, usually because another relay leads
  sleeping,  // a leader: cannot acquire SLEEP
  writing,   // a leader: locks delay marks or reads, or marks change nothing
  hearing,   // a leader: one session floods its channel with notifications
};

// References in notices are valid only during the call.
namespace notice {

// The next request of a stream may be due earlier than the stream has reported.
struct wake_driver {};
// Events marked published by one route; an empty name stands for events without a route.
struct published {
  std::size_t events = 0;
  const std::string& route;
};
// An event was acknowledged, this long after the start of the transaction that inserted it; negative if the
// server's clock was set back.
struct delivered {
  std::chrono::microseconds after;
};
// An event could not be published. `to` is the event's own destination, never the dead-letter exchange.
struct failed {
  const event& which;
  const destination& to;
  const failure_record& how;
  bool sent = true;  // false: not sent, because its destination fails
};
// PostgreSQL refuses to write the event's outcome, or cannot read the event at present.
struct stuck {
  const event& which;
  const std::string& reason;
};
// The event was published, but its row was changed after it was sent.
struct changed_after_send {
  const event& which;
};
// The paused parts of the outbox have changed; in_force may be empty.
struct paused {
  const std::vector<pause>& in_force;
};

struct leads {};  // the leader starts to lead
struct gave_up {  // in an orderly way, or because the session was lost
  int shard = 0;
};
struct stands_by {};  // other relays lead
struct makes_way {
  std::string who;  // the session that requests the lead
};
struct swept {};
struct rung {
  int count = 0;
};
// Statements about events have been deferred for longer than a lock usually lasts; deferral_over: they
// succeed again.
struct deferred {
  std::string_view reason;
};
struct deferral_over {};
// deaf: notifications do not arrive; hears_again: they arrive again.
struct deaf {};
struct hears_again {};
// The server's notification queue has begun to fill up, or no longer fills up; usage: from 0 to 1.
struct queue {
  bool fills = false;
  double usage = 0;
};
// The lead ends before the stream has drained: these events were sent but not marked.
struct in_doubt {
  std::vector<event_key> keys;
};
struct kept {
  keeps_from from = keeps_from::leading;
  bool now = false;
};
// The server process that floods the channel; 0: none. Sent in each turn.
struct loudest {
  int process = 0;
};

}  // namespace notice

using any_notice =
    std::variant<notice::wake_driver, notice::published, notice::delivered, notice::failed, notice::stuck,
                 notice::changed_after_send, notice::paused, notice::leads, notice::gave_up,
                 notice::stands_by, notice::makes_way, notice::swept, notice::rung, notice::deferred,
                 notice::deferral_over, notice::deaf, notice::hears_again, notice::queue, notice::in_doubt,
                 notice::kept, notice::loudest>;

using observer = std::function<void(const any_notice&)>;

}  // namespace outboxd::flow

// notices: all notices of a leader and its stream, in one variant.
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

// What a lock holder, or a flood of notifications, keeps a leader from.
enum class keeps_from : std::uint8_t {
  leading,   // a standby: it gets no lead, usually because another relay leads
  sleeping,  // a leader: it does not get SLEEP
  writing,   // a leader: locks put marks or reads off, or marks change nothing
  hearing,   // a leader: one session floods its channel with notifications
};

// Their references are valid during the call only.
namespace notice {

// The next request of a stream may be due earlier than it said.
struct progress {};
// By one route; empty: by none.
struct published {
  std::size_t events = 0;
  const std::string& route;
};
// Acknowledged, this long after the start of the transaction that inserted it; below 0 if the server's clock
// was set back.
struct delivered {
  std::chrono::microseconds after;
};
// It could not be published. `to` is the event's own destination, never the dead-letter exchange.
struct failed {
  const event& which;
  const destination& to;
  const failure_record& how;
  bool sent = true;  // else it was not sent, because its destination fails
};
// PostgreSQL refuses to write its outcome, or cannot read it at the moment.
struct stuck {
  const event& which;
  const std::string& reason;
};
// It is published, but its row was changed after it was sent.
struct changed_after_send {
  const event& which;
};
// Other parts of the outbox are paused than before, or none.
struct paused {
  const std::vector<pause>& in_force;
};

struct leads {};  // from now on
struct gave_up {  // with or without its session
  int shard = 0;
};
struct stands_by {};  // others lead
struct makes_way {
  std::string who;  // asks for the lead
};
struct swept {};
struct rung {
  int count = 0;
};
// Statements about events have been deferred for longer than a lock usually takes; they succeed again.
struct deferred {
  std::string_view reason;
};
struct deferral_over {};
// Notifications do not arrive; they arrive again.
struct deaf {};
struct hears_again {};
// The server's queue of notifications has begun to fill, up to so much of it from 0 to 1, or fills no longer.
struct queue {
  bool fills = false;
  double usage = 0;
};
// The lead ends before the stream is drained: these events were sent but not marked.
struct in_doubt {
  std::vector<event_key> keys;
};
struct kept {
  keeps_from from = keeps_from::leading;
  bool now = false;
};
// The process at the server that floods the channel; 0: nobody does. At each turn.
struct loudest {
  int process = 0;
};

}  // namespace notice

using any_notice =
    std::variant<notice::progress, notice::published, notice::delivered, notice::failed, notice::stuck,
                 notice::changed_after_send, notice::paused, notice::leads, notice::gave_up,
                 notice::stands_by, notice::makes_way, notice::swept, notice::rung, notice::deferred,
                 notice::deferral_over, notice::deaf, notice::hears_again, notice::queue, notice::in_doubt,
                 notice::kept, notice::loudest>;

using observer = std::function<void(const any_notice&)>;

}  // namespace outboxd::flow

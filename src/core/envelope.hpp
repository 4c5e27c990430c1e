// envelope: turns an event into the message that the contract promises.
#pragma once

#include "core/event.hpp"
#include "core/message.hpp"

namespace outboxd {

struct routing {
  std::string exchange = "outbox";  // for rows that name none
};

// The message's views point into what was read and into the routing.
message envelope(const event& from, payload_type payload, const routing& by);

// ISO 8601 in UTC with microseconds, for example 2026-01-31T08:15:00.000042Z.
std::string to_iso8601(timestamp at);

}  // namespace outboxd

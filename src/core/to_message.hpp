// to_message: turns an event into the message that the contract promises, or that its route asks for.
#pragma once

#include "core/error.hpp"
#include "core/event.hpp"
#include "core/message.hpp"
#include "core/routing.hpp"

namespace outboxd {

// As without any route. The message's views point into what was read and into the routing.
message to_message(const event& from, payload_type payload, const routing& by);

// By its route; null: as without one. An error is permanent and the event's own fault: it lacks a header that
// the route needs, or its format cannot say it.
result<message> to_message(const event& from, payload_type payload, const routing& by, const routed* how);

}  // namespace outboxd

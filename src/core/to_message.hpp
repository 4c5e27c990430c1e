// to_message: turns an event into the message to publish.
#pragma once

#include "core/error.hpp"
#include "core/event.hpp"
#include "core/message.hpp"
#include "core/routing.hpp"

namespace outboxd {

// The message without any route. Its views point into the event's buffer and into the routing.
message to_message(const event& from, payload_type payload, const routing& by);

// The message by its route; null means no route. An error is permanent and the event's own fault: it lacks a
// header that the route needs, or its format cannot represent the event.
result<message> to_message(const event& from, payload_type payload, const routing& by, const routed* how);

}  // namespace outboxd

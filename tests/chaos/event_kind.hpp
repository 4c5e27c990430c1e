// event_kind: good events, and those made bad on purpose, with the end that each has to come to.
#pragma once

#include <string_view>

namespace outboxd::chaos {

/// The type of events that are written to be sent later: they take their place when they are due.
inline constexpr auto scheduled_type = "chaos.scheduled";

enum class event_kind {
  good,
  long_header_name,
  long_routing_key,
  cc_header,
  unroutable,        // no queue is bound for its key
  missing_exchange,  // its channel is closed with 404, or with 403 while the relays have no permissions
};

inline constexpr int event_kinds = static_cast<int>(event_kind::missing_exchange) + 1;

std::string_view name_of(event_kind what);

/// Whether this `last_error` is what a dead event of this kind must have; never for a good one, which must
/// not be dead.
bool explains(event_kind what, std::string_view last_error);

}  // namespace outboxd::chaos

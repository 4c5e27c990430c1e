// event_kind: good events and events that are bad on purpose, with the expected outcome of each.
#pragma once

#include <string_view>

namespace outboxd::chaos {

/// The type of scheduled events, which take their place in the order when they are due.
inline constexpr auto scheduled_type = "chaos.scheduled";

enum class event_kind {
  good,
  long_header_name,
  long_routing_key,
  cc_header,
  unroutable,        // no queue is bound for its key
  missing_exchange,  // closes its channel with 404, or with 403 while the relays have no permissions
};

inline constexpr int event_kinds = static_cast<int>(event_kind::missing_exchange) + 1;

std::string_view name_of(event_kind what);

/// True if a dead event of this kind must have this `last_error`; always false for a good event, which must
/// not be dead.
bool explains(event_kind what, std::string_view last_error);

}  // namespace outboxd::chaos

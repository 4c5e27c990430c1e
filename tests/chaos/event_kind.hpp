// event_kind: good events, and those made bad on purpose, with the end that each has to come to.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace outboxd::chaos {

enum class event_kind {
  good,
  long_header_name,
  long_routing_key,
  cc_header,
  unroutable,        // no queue is bound for its key
  missing_exchange,  // its channel is closed with 404
};

inline constexpr int event_kinds = static_cast<int>(event_kind::missing_exchange) + 1;

std::string_view name_of(event_kind what);

/// What `last_error` has to contain; nothing for a good event, which must not be dead.
std::optional<std::string_view> reason_of(event_kind what);

}  // namespace outboxd::chaos

// standard_headers: the headers that every message has besides the row's own.
#pragma once

#include <string_view>

#include "core/message.hpp"

namespace outboxd {

// Calls take(name, value) for each header in wire order; a value is a text or an integer.
template <class Take>
void visit_standard_headers(const message& of, Take&& take) {
  take("aggregate_type", of.aggregate_type);
  take("aggregate_id", of.aggregate_id);
  take("seq", of.seq);
  take("occurred_at", std::string_view(of.occurred_at));
  if (of.dead_reason.empty()) return;
  take("dead_reason", of.dead_reason);
  take("dead_exchange", of.dead_exchange);
  if (!of.dead_routing_key.empty()) take("dead_routing_key", of.dead_routing_key);
}

// True for headers that every message has, not only dead letters.
inline bool is_standard_header(std::string_view name) {
  bool found = false;
  visit_standard_headers({}, [&](std::string_view one, const auto&) { found = found || one == name; });
  return found;
}

}  // namespace outboxd

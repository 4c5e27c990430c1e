#include "flow/stream/stream_state.hpp"

#include <fmt/format.h>
#include <utility>

namespace outboxd::flow {

destination stream_state::destination_of(slot which) const {
  const auto& found = events.at(which);
  return destination_of(found.it.what, found.route.get());
}

destination stream_state::destination_of(const event& one, const routed* route) const {
  if (route != nullptr) return {.exchange = route->exchange, .routing_key = route->routing_key};
  return {.exchange = one.exchange ? *one.exchange : std::string_view(limits.route.exchange),
          .routing_key = one.routing_key.value_or(one.event_type)};
}

// A dead letter keeps its routing key.
destination stream_state::target_of(slot which) const {
  destination out = destination_of(which);
  if (events.at(which).is<stage::letter>()) out.exchange = limits.dead_letter_exchange;
  return out;
}

// True if one of the event's types or its destination is paused.
bool stream_state::is_paused(slot which) const {
  return blocked.paused.holds(events.at(which).it.what, destination_of(which));
}

void stream_state::say_step(step_observer& listener, step what, slot which, clock::time_point sent_at) const {
  const auto& one = events.at(which);
  destination to = destination_of(which);
  if (what == step::sent && one.is<stage::letter>()) {
    what = step::letter_sent;
    to = target_of(which);
  }
  step_taken told{.what = what, .of = one.it.what, .to = to, .lane = one.lane};
  if (what == step::acked)
    if (const auto confirmed = server_clock.at(now()))
      told.times = {.sent = *server_clock.at(sent_at), .confirmed = *confirmed};
  listener.on_step(told);
}

void stream_state::say_stuck(const write_queue& what, std::string_view trouble,
                             const std::string& reason) const {
  if (const auto which = what.stuck())
    tell(notice::stuck{events.at(*which).it.what, fmt::format("{}: {}", trouble, reason)});
}

}  // namespace outboxd::flow

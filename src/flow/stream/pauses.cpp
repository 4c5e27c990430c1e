#include "flow/stream/pauses.hpp"

#include <algorithm>
#include <utility>

namespace outboxd::flow {
namespace {

// Ignores the reason and end of a pause, because both may change while the pause lasts.
bool has(const std::vector<pause>& in, const pause& part) {
  return std::any_of(in.begin(), in.end(),
                     [&](const pause& one) { return one.part == part.part && one.name == part.name; });
}

bool has_all(const std::vector<pause>& in, const std::vector<pause>& parts) {
  return std::all_of(parts.begin(), parts.end(), [&](const pause& one) { return has(in, one); });
}

bool match(const std::vector<glob>& any_of, std::string_view name) {
  return std::any_of(any_of.begin(), any_of.end(), [&](const glob& one) { return one.matches(name); });
}

}  // namespace

paused_part part_named(std::string_view name) {
  if (name == "event_type") return paused_part::event_type;
  if (name == "aggregate_type") return paused_part::aggregate_type;
  if (name == "exchange") return paused_part::exchange;
  if (name == "routing_key") return paused_part::routing_key;
  return paused_part::everything;
}

pauses::change pauses::set(std::vector<pause> in_force) {
  const change out{.more = !has_all(in_force_, in_force), .fewer = !has_all(in_force, in_force_)};
  in_force_ = std::move(in_force);
  everything_ = has(in_force_, {});
  event_types_.clear();
  aggregate_types_.clear();
  exchanges_.clear();
  routing_keys_.clear();
  for (const pause& one : in_force_) {
    if (one.part == paused_part::event_type) event_types_.insert(one.name);
    if (one.part == paused_part::aggregate_type) aggregate_types_.insert(one.name);
    if (one.part == paused_part::exchange) exchanges_.emplace_back(one.name);
    if (one.part == paused_part::routing_key) routing_keys_.emplace_back(one.name);
  }
  return out;
}

bool pauses::holds(const event& one, const destination& to) const {
  return event_types_.contains(one.event_type) || aggregate_types_.contains(one.aggregate_type) ||
         match(exchanges_, to.exchange) || match(routing_keys_, to.routing_key);
}

}  // namespace outboxd::flow

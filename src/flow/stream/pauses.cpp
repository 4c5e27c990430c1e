#include "flow/stream/pauses.hpp"

#include <algorithm>
#include <utility>

namespace outboxd::flow {
namespace {

// Reason and end of a pause may change while it lasts.
bool has(const std::vector<pause>& in, const pause& part) {
  return std::any_of(in.begin(), in.end(),
                     [&](const pause& one) { return one.part == part.part && one.name == part.name; });
}

bool has_all(const std::vector<pause>& in, const std::vector<pause>& parts) {
  return std::all_of(parts.begin(), parts.end(), [&](const pause& one) { return has(in, one); });
}

}  // namespace

pauses::change pauses::set(std::vector<pause> in_force) {
  const change out{.more = !has_all(in_force_, in_force), .fewer = !has_all(in_force, in_force_)};
  in_force_ = std::move(in_force);
  everything_ = has(in_force_, {});
  event_types_.clear();
  aggregate_types_.clear();
  for (const pause& one : in_force_) {
    if (one.part == paused_part::event_type) event_types_.insert(one.name);
    if (one.part == paused_part::aggregate_type) aggregate_types_.insert(one.name);
  }
  return out;
}

bool pauses::holds(const event& one) const {
  return event_types_.contains(one.event_type) || aggregate_types_.contains(one.aggregate_type);
}

}  // namespace outboxd::flow

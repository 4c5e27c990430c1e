#include "flow/stream/held_aggregates.hpp"

#include <algorithm>
#include <limits>

namespace outboxd::flow {

// Returns null if there is no room for the aggregate.
hold* held_aggregates::track(aggregate which) {
  if (const auto found = held_.find(which); found != held_.end()) return &found->second;
  if (held_.size() < most_) return &held_.emplace(which, hold::draining).first->second;
  overflown_ = true;
  clean_pass_ = false;
  return nullptr;
}

void held_aggregates::begin(aggregate which, hold how) {
  if (hold* const one = track(which)) *one = how;
  if (how == hold::draining) ask(which);
}

void held_aggregates::on_head_settled(aggregate which) {
  if (!holds(which)) return;
  if (const auto found = held_.find(which); found != held_.end()) found->second = hold::draining;
  ask(which);
}

void held_aggregates::on_to_record(aggregate which) {
  track(which);
  ++to_record_[which];
}

void held_aggregates::on_recorded(aggregate which) {
  const auto left = to_record_.find(which);
  if (--left->second > 0) return;
  to_record_.erase(left);
  const auto found = held_.find(which);
  if (found == held_.end() || found->second == hold::draining) ask(which);
}

void held_aggregates::on_head_waits(aggregate which) {
  if (const auto found = held_.find(which); found != held_.end()) found->second = hold::head_waits;
}

void held_aggregates::on_all_released(aggregate which) {
  const auto found = held_.find(which);
  if (found == held_.end()) return;
  if (!to_record_.contains(which))
    held_.erase(found);
  else
    found->second = hold::draining;  // looked up again once these events are recorded
}

// The pages may lack an aggregate that is not tracked here and whose events are not recorded yet.
void held_aggregates::on_page(const std::vector<held_aggregate>& page, aggregate after, aggregate last) {
  constexpr auto ends = std::numeric_limits<aggregate>();
  if (after == ends.min())
    clean_pass_ = std::all_of(to_record_.begin(), to_record_.end(),
                              [&](const auto& one) { return held_.contains(one.first); });
  for (const held_aggregate& one : page)
    if (!held_.contains(one.which) || !one.head_waits)
      begin(one.which, one.head_waits ? hold::head_waits : hold::draining);
  std::vector<aggregate> gone;
  for (const auto& [which, how] : held_) {
    if (which <= after || which > last || to_record_.contains(which)) continue;
    const auto there = std::lower_bound(page.begin(), page.end(), which,
                                        [](const held_aggregate& one, aggregate a) { return one.which < a; });
    if (there == page.end() || there->which != which) gone.push_back(which);
  }
  for (const aggregate which : gone) begin(which, hold::draining);
  if (last == ends.max() && clean_pass_) overflown_ = false;
}

// If there is no room for the aggregate here, the pages find it again.
void held_aggregates::ask(aggregate which) {
  if (asked_.contains(which)) return;
  if (asks_.size() >= most_ && !held_.contains(which)) {
    overflown_ = true;
    clean_pass_ = false;
    return;
  }
  asked_.insert(which);
  asks_.push_back(which);
}

void held_aggregates::clear() {
  held_.clear();
  to_record_.clear();
  asks_.clear();
  asked_.clear();
  overflown_ = false;
}

}  // namespace outboxd::flow

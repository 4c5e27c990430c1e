#include "flow/held_aggregates.hpp"

#include <algorithm>

namespace outboxd::flow {

void held_aggregates::begin(aggregate which, hold how) {
  auto found = held_.find(which);
  if (found == held_.end()) {
    if (held_.size() >= most_) {
      overflown_ = true;
      if (how == hold::draining) ask(which);
      return;
    }
    found = held_.try_emplace(which).first;
  }
  found->second.how = how;
  if (how == hold::draining) ask(which);
}

void held_aggregates::on_head_settled(aggregate which) {
  if (!holds(which)) return;
  if (const auto found = held_.find(which); found != held_.end()) found->second.how = hold::draining;
  ask(which);
}

void held_aggregates::on_to_record(aggregate which) {
  if (const auto found = held_.find(which); found != held_.end()) ++found->second.to_record;
}

void held_aggregates::on_recorded(aggregate which) {
  const auto found = held_.find(which);
  if (found == held_.end()) {
    if (overflown_) ask(which);
    return;
  }
  if (found->second.to_record > 0) --found->second.to_record;
  if (found->second.to_record == 0 && found->second.how == hold::draining) ask(which);
}

void held_aggregates::on_head_waits(aggregate which) {
  if (const auto found = held_.find(which); found != held_.end()) found->second.how = hold::head_waits;
}

void held_aggregates::on_all_released(aggregate which) {
  const auto found = held_.find(which);
  if (found == held_.end()) return;
  if (found->second.to_record == 0)
    held_.erase(found);
  else
    found->second.how = hold::draining;  // recorded, it is looked up again
}

void held_aggregates::on_page(const std::vector<blocked_aggregate>& page, aggregate after, aggregate last) {
  for (const blocked_aggregate& one : page)
    if (!held_.contains(one.which) || !one.head_waits) begin(one.which, one.head_waits ? hold::head_waits : hold::draining);
  std::vector<aggregate> gone;
  for (const auto& [which, how] : held_) {
    if (which <= after || which > last || how.to_record > 0) continue;
    const auto there = std::lower_bound(page.begin(), page.end(), which,
                                        [](const blocked_aggregate& one, aggregate a) { return one.which < a; });
    if (there == page.end() || there->which != which) gone.push_back(which);
  }
  for (const aggregate which : gone) begin(which, hold::draining);
  if (held_.size() < most_ / 2) overflown_ = false;
}

void held_aggregates::ask(aggregate which) {
  if (const auto found = held_.find(which); found != held_.end()) {
    if (found->second.asked) return;
    found->second.asked = true;
  }
  asks_.push_back(which);
}

void held_aggregates::clear() {
  held_.clear();
  asks_.clear();
  overflown_ = false;
}

}  // namespace outboxd::flow

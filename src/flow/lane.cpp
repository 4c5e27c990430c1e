#include "flow/lane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace outboxd::flow {

void lane::offer(parcel one) {
  waiting_.push_back(one);
}

void lane::pump() {
  while (state_ == state::open) {
    const auto first = std::find_if(waiting_.begin(), waiting_.end(),
                                    [](const parcel& one) { return one.whose->may_send(); });
    if (first == waiting_.end()) return;
    const parcel next = *first;
    // Nothing is sent behind one that travels alone, so it is the latest.
    if (in_flight_ > 0 && (next.alone || (window_.back().open && window_.back().what.alone))) return;
    const auto taken = broker_.publish(first_ + window_.size(), next.whose->letter_of(next.which));
    if (taken && *taken == accepted::full) {
      if (!full_since_) full_since_ = owner_.now();
      return;
    }
    full_since_.reset();
    waiting_.erase(first);
    if (!taken) {
      next.whose->on_unencodable(next.which, taken.error().message);
      continue;
    }
    window_.push_back({next, owner_.now()});
    ++in_flight_;
    next.whose->on_sent(next.which);
  }
}

void lane::withdraw(shipper& whose) {
  std::vector<slot> unsent;
  for (const parcel& one : waiting_)
    if (one.whose == &whose) unsent.push_back(one.which);
  std::erase_if(waiting_, [&](const parcel& one) { return one.whose == &whose; });
  for (const slot which : unsent) whose.on_lane_lost(which);
}

void lane::forget(const shipper& whose) {
  std::erase_if(waiting_, [&](const parcel& one) { return one.whose == &whose; });
  for (sent& one : window_)
    if (one.what.whose == &whose) one.what.whose = nullptr;
}

lane::sent* lane::find(token name) {
  if (name < first_ || name >= first_ + window_.size()) return nullptr;
  sent& one = window_[static_cast<std::size_t>(name - first_)];
  return one.open ? &one : nullptr;
}

void lane::close(sent& one) {
  one.open = false;
  --in_flight_;
}

void lane::on_outcomes(std::span<const outcome> outcomes) {
  latest_outcome_ = owner_.now();
  for (const outcome& one : outcomes) {
    sent* const which = find(one.id);
    if (which == nullptr) continue;
    const parcel what = which->what;
    close(*which);
    if (what.whose != nullptr) what.whose->on_outcome(what.which, one);
  }
  while (!window_.empty() && !window_.front().open) {
    window_.pop_front();
    ++first_;
  }
  owner_.on_lane_progress();
}

// One alone in flight is the culprit. Of several any may be: they are sent again first, each alone.
void lane::on_channel_closed(std::span<const token> unknown, std::string_view reason) {
  latest_outcome_ = owner_.now();
  std::vector<parcel> suspects;
  for (const sent& one : window_)
    if (one.open) suspects.push_back(one.what);
  const bool traced = unknown.size() == 1;
  first_ += window_.size();
  window_.clear();
  in_flight_ = 0;
  std::erase_if(suspects, [](const parcel& one) { return one.whose == nullptr; });
  if (traced) {
    for (const parcel& one : suspects)
      one.whose->on_refused(one.which, fmt::format("refused by the broker: {}", reason));
  } else {
    for (parcel& one : suspects) one.alone = true;
    waiting_.insert(waiting_.begin(), suspects.begin(), suspects.end());
  }
  owner_.on_lane_progress();
}

void lane::on_broker_up() {
  state_ = state::open;
  latest_outcome_ = owner_.now();
  full_since_.reset();
  owner_.on_lane_changed();
}

void lane::on_blocked(bool blocked) {
  if (state_ == state::down) return;
  state_ = blocked ? state::blocked : state::open;
  latest_outcome_ = owner_.now();
  // The time while it was blocked does not count.
  for (sent& one : window_) one.at = latest_outcome_;
  if (full_since_) full_since_ = latest_outcome_;
  owner_.on_lane_changed();
}

void lane::on_broker_down() {
  state_ = state::down;
  std::vector<parcel> lost;
  for (const sent& one : window_)
    if (one.open) lost.push_back(one.what);
  lost.insert(lost.end(), waiting_.begin(), waiting_.end());
  first_ += window_.size();
  window_.clear();
  waiting_.clear();
  in_flight_ = 0;
  for (const parcel& one : lost)
    if (one.whose != nullptr) one.whose->on_lane_lost(one.which);
  owner_.on_lane_changed();
}

// A broker that has said that it takes nothing is well: dropping the connection would only repeat what it already has.
std::optional<clock::time_point> lane::deadline() const {
  if (state_ != state::open) return std::nullopt;
  if (!window_.empty()) return window_.front().at + limits_.confirm_timeout;
  // Only those that nobody waits for any longer take up its room.
  if (full_since_) return *full_since_ + limits_.confirm_timeout;
  return std::nullopt;
}

void lane::check() {
  const auto due = deadline();
  if (!due || owner_.now() < *due) return;
  if (window_.empty() || latest_outcome_ + limits_.confirm_timeout <= owner_.now())
    return broker_.drop(fmt::format("no confirm for {} ms", limits_.confirm_timeout.count()));
  while (!window_.empty() &&
         (!window_.front().open || window_.front().at + limits_.confirm_timeout <= owner_.now())) {
    sent late = std::move(window_.front());
    window_.pop_front();
    ++first_;
    if (!late.open) continue;
    --in_flight_;
    if (late.what.whose != nullptr) late.what.whose->on_overdue(late.what.which);
  }
  owner_.on_lane_progress();
}

}  // namespace outboxd::flow

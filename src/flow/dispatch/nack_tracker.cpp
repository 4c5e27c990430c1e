#include "flow/dispatch/nack_tracker.hpp"

#include <algorithm>

namespace outboxd::flow {

void nack_tracker::on_up(clock::time_point now) {
  for (auto& [to, one] : latest_) one = {now, {}};
  alone_since_.reset();
  due_.reset();
  up_at_ = now;
  use_ = use::unproven;
}

void nack_tracker::on_nacked(const destination& to, clock::time_point now) {
  if (!alone_since_) alone_since_ = now;
  if (latest_.empty() && renewed_at_ && now - *renewed_at_ >= limits_.longest_renewal)
    pause_ = limits_.first_renewal;
  key name(to.exchange, to.routing_key);
  if (latest_.size() >= limits_.most && !latest_.contains(name)) return;
  const auto at = latest_.try_emplace(std::move(name), times{now, now}).first;
  at->second.last = now;
  due_ = is_proven() ? at->second.first + pause_ : up_at_ + std::min(pause_, limits_.longest_of_useless);
}

void nack_tracker::on_acked(const destination& to) {
  // A nack before the first confirm has scheduled an early renewal, which is no longer needed, because this
  // connection works for other destinations.
  if (due_ && !is_proven()) due_ = up_at_ + pause_;
  use_ = use::proven;
  alone_since_.reset();
  latest_.erase({std::string(to.exchange), std::string(to.routing_key)});
  if (latest_.empty()) due_.reset();
}

bool nack_tracker::nothing_else(clock::time_point now) const {
  if (!alone_since_ || now - *alone_since_ < limits_.all_refused) return false;
  const auto refused = std::count_if(latest_.begin(), latest_.end(),
                                     [this](const auto& one) { return one.second.last >= *alone_since_; });
  return static_cast<std::size_t>(refused) >= limits_.many;
}

void nack_tracker::on_renewal(clock::time_point now) {
  due_.reset();
  renewed_at_ = now;
  pause_ = std::min(pause_ * 2, limits_.longest_renewal);
}

}  // namespace outboxd::flow

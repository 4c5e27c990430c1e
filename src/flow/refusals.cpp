#include "flow/refusals.hpp"

#include <algorithm>

namespace outboxd::flow {

void refusals::on_up(clock::time_point now) {
  for (auto& [to, one] : latest_) one = {now, {}};
  alone_since_.reset();
  due_.reset();
}

void refusals::on_nacked(const destination& to, clock::time_point now) {
  if (!alone_since_) alone_since_ = now;
  key name(to.exchange, to.routing_key);
  if (latest_.size() >= limits_.most && !latest_.contains(name)) return;
  const auto at = latest_.try_emplace(std::move(name), times{now, now}).first;
  at->second.last = now;
  due_ = at->second.first + pause_;
}

void refusals::on_acked(const destination& to) {
  alone_since_.reset();
  latest_.erase({std::string(to.exchange), std::string(to.routing_key)});
  if (latest_.empty()) {
    due_.reset();
    pause_ = limits_.first_renewal;
  }
}

bool refusals::nothing_else(clock::time_point now) const {
  if (!alone_since_ || now - *alone_since_ < limits_.all_refused) return false;
  const auto refused = std::count_if(latest_.begin(), latest_.end(),
                                     [this](const auto& one) { return one.second.last >= *alone_since_; });
  return static_cast<std::size_t>(refused) >= limits_.many;
}

void refusals::on_renewal() {
  due_.reset();
  pause_ = std::min(pause_ * 2, limits_.longest_renewal);
}

}  // namespace outboxd::flow

#include "flow/lead/listen_probe.hpp"

#include <utility>

namespace outboxd::flow {

void listen_probe::begin(time_point first_probe) {
  state_ = state::resting;
  next_ = first_probe;
  hears_ = false;
}

void listen_probe::on_sent(time_point now) {
  state_ = state::awaiting;
  next_ = now + limits_.answer_timeout;
}

void listen_probe::on_unsent(time_point now) {
  state_ = state::resting;
  next_ = now;
}

bool listen_probe::on_heard(time_point now) {
  if (state_ == state::none) return false;
  state_ = state::resting;
  next_ = now + limits_.interval;
  hears_ = true;
  return std::exchange(said_deaf_, false);
}

bool listen_probe::on_deaf(time_point now) {
  if (state_ == state::none) return false;
  state_ = state::resting;
  next_ = now + limits_.interval;
  hears_ = false;
  return !std::exchange(said_deaf_, true);
}

}  // namespace outboxd::flow

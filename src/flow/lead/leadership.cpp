#include "flow/lead/leadership.hpp"

#include <algorithm>

namespace outboxd::flow {
namespace {

using namespace std::chrono_literals;

constexpr auto after_giving_up = 1s;

constexpr auto without_broker = 1s;
constexpr auto between_counts = 1s;

// Draining may take minutes if events are locked, or in flight to a queue that hangs. A leader that makes way
// for another relay therefore resumes leading if it has not drained after first_drain, and tries again later.
// If it waits only for confirms, each attempt may take twice as long as the one before, because confirms
// arrive or become overdue. A leader that cannot do anything useful gives up the lead in spite of a lock,
// once the lock has lasted for first_drain.
constexpr auto first_drain = 1s;
constexpr int most_doublings = 6;
constexpr auto between_drains = 5s;

constexpr auto between_looks = 5s;
constexpr auto between_heard_looks = 1s;
constexpr auto longest_request = 3s;
constexpr auto between_requests = 5s;

}  // namespace

void leadership::on_session() {
  if (state_ == state::away) state_ = state::standing_by;
}

void leadership::on_taken() {
  if (state_ == state::standing_by) state_ = state::taking;
  if (state_ == state::stopped) state_ = state::stopping;  // stop() was called while the lead was requested
}

void leadership::on_loaded(clock::time_point now) {
  if (state_ == state::taking) state_ = state::leading;
  next_drain_ = now;
  failed_drains_ = 0;
  locked_since_.reset();
  broker_gone_since_.reset();
  others_ = 0;
}

void leadership::on_given_up(clock::time_point now) {
  next_try_ = now + after_giving_up;
  state_ = stopping() ? state::stopped : state::standing_by;
}

void leadership::leave() {
  if (state_ != state::stopping) state_ = state::leaving;
}

void leadership::hear_request(clock::time_point now) {
  next_look_ = std::min(next_look_, std::max(now, looked_at_ + between_heard_looks));
}

bool leadership::wants_look(clock::time_point now) const {
  return state_ == state::leading && now >= next_look_;
}

bool leadership::on_looked(bool asked, clock::time_point now) {
  looked_at_ = now;
  next_look_ = now + between_looks;
  const bool leads = state_ == state::leading;
  if (!leads && state_ != state::taking) return false;
  const bool is_followed = now < request_ends_;
  if (!asked) {
    if (is_followed) end_request(now);
    return false;
  }
  const auto may = leads ? std::max(next_drain_, next_request_) : next_request_;
  if (now >= may) {
    end_request(now + longest_request);
  } else if (leads || !is_followed) {  // leading during a request: the previous drain failed
    next_look_ = std::min(next_look_, may);
    return false;
  }
  if (leads) make_way(now);
  return true;
}

void leadership::end_request(clock::time_point when) {
  request_ends_ = when;
  next_request_ = when + between_requests;
}

void leadership::on_broker(bool is_there, clock::time_point now) {
  if (is_there) {
    broker_gone_since_.reset();
    return;
  }
  if (broker_gone_since_) return;
  broker_gone_since_ = now;
  others_ = 0;
  next_count_ = now + without_broker;
}

bool leadership::lacks_broker(clock::time_point now) const {
  return broker_gone_since_ && now - *broker_gone_since_ >= without_broker;
}

bool leadership::wants_count(clock::time_point now) const {
  return state_ == state::leading && lacks_broker(now) && now >= next_count_;
}

void leadership::on_counted(int others, clock::time_point now) {
  others_ = others;
  next_count_ = now + between_counts;
}

leadership::action leadership::step(bool too_many, bool meets_lock, clock::time_point now) {
  if (!meets_lock) locked_since_.reset();
  if (meets_lock && !locked_since_) locked_since_ = now;
  const bool lock_lasts = locked_since_ && now - *locked_since_ >= first_drain;
  switch (state_) {
    case state::away:
    case state::standing_by:
    case state::taking:
    case state::stopped:
      return action::none;
    case state::leading:
      if (!may_make_way(now) || !(too_many || (lacks_broker(now) && others_ > 0))) return action::none;
      make_way(now);
      return action::drain;
    case state::making_way:
      if (now < drains_until(meets_lock)) return action::drain;
      if (lock_lasts && lacks_broker(now) && others_ > 0) return action::give_up;
      state_ = state::leading;
      ++failed_drains_;
      next_drain_ = now + between_drains;
      return action::go_on;
    case state::leaving:
      return lock_lasts ? action::give_up : action::drain;
    case state::stopping:
      return action::drain;
  }
  return action::none;
}

clock::time_point leadership::next(bool meets_lock) const {
  if (state_ == state::leading) return broker_gone_since_ ? std::min(next_count_, next_look_) : next_look_;
  if (state_ == state::making_way) return drains_until(meets_lock);
  if (state_ == state::leaving && locked_since_) return *locked_since_ + first_drain;
  return clock::time_point::max();
}

void leadership::make_way(clock::time_point now) {
  state_ = state::making_way;
  drains_since_ = now;
}

clock::time_point leadership::drains_until(bool meets_lock) const {
  const int doublings = meets_lock ? 0 : std::min(failed_drains_, most_doublings);
  return drains_since_ + first_drain * (1 << doublings);
}

}  // namespace outboxd::flow

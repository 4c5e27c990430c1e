#include "flow/lead/doorbell.hpp"

#include <algorithm>
#include <utility>

namespace outboxd::flow {

void doorbell::meter::add(int more, clock::time_point now, std::chrono::milliseconds window) {
  if (now - since >= window) {
    before = now - since < 2 * window ? count : 0;
    count = 0;
    since = now;
  }
  count += more;
}

int doorbell::meter::lately(clock::time_point now, std::chrono::milliseconds window) const {
  return now - since >= 2 * window ? 0 : std::max(count, before);
}

void doorbell::start(clock::time_point now) {
  state_ = state::awake;
  action_ = action::none;
  wake(now);
}

void doorbell::set(obstacle what, bool there, clock::time_point now) {
  const auto bit = static_cast<std::uint8_t>(what);
  obstacles_ = static_cast<std::uint8_t>(there ? obstacles_ | bit : obstacles_ & ~bit);
  if (!there || state_ == state::awake) return;
  wake(now);
  if (what == obstacle::no_lock_session) action_ = action::none;  // the session has released its lock
}

void doorbell::wake(clock::time_point now) {
  if (state_ != state::awake) action_ = action::unlock;
  state_ = state::awake;
  awake_since_ = last_find_ = next_poll_ = now;
}

bool doorbell::on_notified(int count, clock::time_point now) {
  notified_.add(count, now, limits_.window);
  if (state_ != state::awake && notified_.lately(now, limits_.window) >= enough_to_wake(now)) wake(now);
  if (state_ != state::awake) return true;
  rung_ = true;
  next_poll_ = std::min(next_poll_, std::max(now, last_read_ + limits_.shortest_rung));
  return false;
}

void doorbell::on_read_sent() {
  rung_ = false;
  if (state_ == state::granted) state_ = state::last_read;
}

// An idle leader does not poll. The more recently an awake leader found events, the sooner it polls.
void doorbell::on_read(std::size_t found, bool complete, clock::time_point now, std::size_t of_all) {
  last_read_ = now;
  if (found > 0) last_find_ = now;
  found_.add(static_cast<int>(std::max(found, of_all)), now, limits_.window);
  if (state_ == state::last_read && complete) {
    state_ = state::asleep;
    next_poll_ = clock::time_point::max();
  }
  if (state_ != state::awake && state_ != state::requesting) return;
  const auto without = std::chrono::duration_cast<std::chrono::microseconds>(now - last_find_);
  next_poll_ = now + std::clamp<std::chrono::microseconds>(without / limits_.poll_share,
                                                           limits_.shortest_poll, limits_.longest_poll);
  if (rung_) next_poll_ = std::min(next_poll_, now + limits_.shortest_rung);
  if (state_ == state::awake && complete) ask_if_calm(now);
}

// Calm means at most half as many events as would wake the leader. With a higher limit, the leader would
// alternate between idle and awake.
void doorbell::ask_if_calm(clock::time_point now) {
  const bool calm = found_.lately(now, limits_.window) <= enough_to_wake(now) / 2;
  if (obstacles_ != 0 || !calm || now - awake_since_ < limits_.shortest_awake) return;
  state_ = state::requesting;
  action_ = action::ask;
}

void doorbell::on_granted(clock::time_point now) {
  if (state_ != state::requesting) {  // the outbox is busy again, or the leader may no longer be idle
    action_ = action::unlock;
    return;
  }
  state_ = state::granted;
  next_poll_ = now;
}

// Writers notify while the leader requests SLEEP. They do not notify for a while before the next request, so
// that the leader can measure the rate of events when no writer waits for another one's notification.
void doorbell::on_refused(clock::time_point now) {
  if (state_ != state::requesting) return;
  state_ = state::awake;
  awake_since_ = now;
}

doorbell::action doorbell::take_action(clock::time_point now) {
  if (action_ == action::none && wants_probe(now)) {
    contention_.next_probe = now + limits_.contention_probe;
    return action::probe;
  }
  return std::exchange(action_, action::none);
}

bool doorbell::wants_probe(clock::time_point now) const {
  return state_ == state::asleep && now >= contention_.next_probe &&
         notified_.lately(now, limits_.window) >= limits_.probe_rate;
}

}  // namespace outboxd::flow

#include "core/doorbell_policy.hpp"

#include <algorithm>
#include <utility>

namespace outboxd {

void doorbell_policy::meter::add(int more, time_point now, std::chrono::milliseconds window) {
  if (now - since >= window) {
    lasted = now - since;
    before = lasted < 2 * window ? count : 0;
    since = now;
    count = 0;
  }
  count += more;
}

int doorbell_policy::meter::lately(time_point now, std::chrono::milliseconds window) const {
  return now - since < 2 * window ? std::max(count, before) : 0;
}

int doorbell_policy::meter::rate(std::chrono::milliseconds window) const {
  return before == 0 ? 0 : static_cast<int>(before * clock::duration(window) / lasted);
}

doorbell_policy::clock::duration doorbell_policy::pause(clock::duration without) const {
  return std::clamp<clock::duration>(without / limits_.share, limits_.shortest, limits_.longest);
}

doorbell_policy::clock::duration doorbell_policy::pause_after_find() const {
  const auto for_events =
      std::max(0, events_.rate(limits_.window) - limits_.unhurried) * limits_.pause_per_event;
  return std::clamp<clock::duration>(std::min<clock::duration>(for_events, took_ + took_ / 2),
                                     limits_.shortest,
                                     std::max<clock::duration>(limits_.shortest, limits_.steady));
}

bool doorbell_policy::busy(time_point now) const {
  const int enough = now < contended_until_ ? limits_.busy_contended : limits_.busy;
  return notified_.count >= enough || finds_.count >= enough;
}

// Without a doorbell the looks go on, less and less often, until the sweep is as frequent.
bool doorbell_policy::idle_for(clock::duration limit, time_point now) const {
  const bool alone = state_ == state::alert && !rings();
  return now - last_find_ >=
         (alone ? std::max<clock::duration>(limit, limits_.longest * limits_.share) : limit);
}

void doorbell_policy::stay_awake(state as, time_point now) {
  if (!looks_come()) {
    last_find_ = now;
    next_ = now + limits_.shortest;  // whatever woke it has it look now
  }
  state_ = as;
}

void doorbell_policy::cool(time_point now) {
  state_ = state::cooling;
  ++coolings_;
  since_ = now;
  next_ = now;
}

doorbell_actions doorbell_policy::ask_if_busy(time_point now) {
  if (!busy(now) || !trigger_ || !mute_up_ || now < no_ask_until_) return {};
  if (state_ == state::asking || state_ == state::hot) return {};
  stay_awake(state::asking, now);
  wonders_since_ = time_point::max();
  owed_before_ = owes_;
  owes_ = true;
  return {.ask_mute = true};
}

void doorbell_policy::wonder_whether_commits_wait(time_point now) {
  if (looks_come() || now < contended_until_ || wonders_since_ <= now) return;
  if (notified_.count < std::max(limits_.brisk, 2 * lately_)) return;
  wonders_since_ = now;
  wonders_at_ = notified_.count;
}

// Lanes may have left something for the next look.
doorbell_actions doorbell_policy::rest(time_point now) {
  switch (state_) {
    case state::alert:
      if (owes_) {
        cool(now);
      } else {
        state_ = state::sleeping;
      }
      return {.look = true};
    case state::hot:
      cool(now);
      return {.look = true, .release_mute = true};
    case state::sleeping:
    case state::asking:  // the answer comes first
    case state::cooling:
      return {};
  }
  return {};
}

doorbell_actions doorbell_policy::on_listening(time_point now) {
  owes_ = owed_before_ = true;
  if (!looks_come()) cool(now);
  return {};
}

doorbell_actions doorbell_policy::on_notified(int count, time_point now) {
  notified_.add(count, now, limits_.window);
  wonder_whether_commits_wait(now);
  auto out = ask_if_busy(now);
  out.look = true;
  return out;
}

doorbell_actions doorbell_policy::on_looked(int events, bool others_hold, time_point now) {
  const bool found = events > 0;
  if (found) {
    finds_.add(1, now, limits_.window);
    events_.add(events, now, limits_.window);
    last_find_ = now;
  }
  const auto out = found ? ask_if_busy(now) : doorbell_actions{};
  if (!looks_come()) return out;
  if (!found && idle_for(others_hold ? limits_.quiet_beside_others : limits_.quiet, now)) return rest(now);
  next_ = now + (found ? pause_after_find() : pause(now - last_find_));
  return out;
}

// A few that take long, as one of a long queue of one aggregate does, are no reason for all others to wait.
void doorbell_policy::on_marked(clock::duration took) {
  took = std::min<clock::duration>(took, limits_.steady);
  took_ += (took - took_) / (took < took_ ? 2 : 8);
}

doorbell_actions doorbell_policy::on_swept(const sweep& found, time_point now) {
  wonders_since_ = time_point::max();
  const int ringing = notified_.lately(now, limits_.window);
  lately_ = std::max(ringing, std::exchange(wonders_at_, 0));  // a sweep may take longer than a window
  if (found.contended) contended_until_ = now + limits_.contention_lasts;
  if (state_ == state::cooling) {
    if (found.silence_is_over) {
      owes_ = false;
      state_ = state::sleeping;
      if (!rings()) stay_awake(state::alert, now);
    } else if (found.unannounced) {
      stay_awake(state::alert, now);  // another relay has the writers keep silent
    } else {
      next_ = now + pause(now - since_);
    }
  } else if (state_ == state::sleeping && found.unannounced && ringing == 0) {
    stay_awake(state::alert, now);  // while rings come, one for this is just under way
  }
  return {.look = found.work};
}

doorbell_actions doorbell_policy::on_mute_down(time_point now) {
  mute_up_ = false;
  if (state_ == state::asking || state_ == state::hot) stay_awake(state::alert, now);
  return {};
}

doorbell_actions doorbell_policy::on_granted(time_point now) {
  stay_awake(state::hot, now);
  return {};
}

doorbell_actions doorbell_policy::on_refused(time_point now) {
  owes_ = owed_before_;
  no_ask_until_ = now + limits_.ask_again;
  stay_awake(state::alert, now);
  return {};
}

// A writer that has rung goes on and on. Those who came while it was asked have kept silent; so will the next ones.
doorbell_actions doorbell_policy::on_timed_out(time_point now) {
  stay_awake(state::alert, now);
  if (idle_for(limits_.quiet, now)) return rest(now);
  state_ = state::asking;
  owed_before_ = true;
  return {.ask_mute = true};
}

doorbell_actions doorbell_policy::on_timer(time_point now) {
  if (!looks_come() || now < next_) return {};
  if (idle_for(limits_.patience, now)) {
    const auto out = rest(now);
    if (!looks_come()) return out;
  }
  // Until it is answered, or it has got lost.
  next_ = now + std::max<clock::duration>(limits_.quiet, pause(now - last_find_));
  return {.look = true};
}

}  // namespace outboxd

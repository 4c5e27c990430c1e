#include "relay/lane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace outboxd::relay {

bool lane::wake() {
  if (state_ != state::idle || !ready()) return false;
  state_ = state::claiming;
  host_.on_claim_sent(*this);
  outbox_.claim();
  return true;
}

void lane::stop() {
  stopping_ = true;
  if (state_ != state::publishing) return;
  closed_ = true;
  pump();
}

void lane::abandon() {
  stopping_ = true;
  if (state_ == state::publishing) settle();
}

void lane::on_outbox_up() {
  outbox_up_ = true;
  wake();
}

void lane::on_outbox_down() {
  outbox_up_ = false;
  if (state_ == state::idle) return;
  become_idle();
}

void lane::on_broker_up() {
  broker_up_ = true;
  blocked_ = false;
  wake();
}

void lane::on_broker_down() {
  broker_up_ = false;
  if (state_ == state::publishing) settle();
}

void lane::on_blocked(bool blocked) {
  blocked_ = blocked;
  if (state_ == state::publishing) {
    pump();
  } else {
    wake();
  }
}

void lane::on_released() {
  on_settled();
  become_idle();
  wake();  // the broker may have come back meanwhile
}

void lane::on_claimed(batch claimed) {
  on_settled();
  if (claimed.events.empty()) {
    become_idle();
    return;
  }
  begin(std::move(claimed));
}

void lane::begin(batch claimed) {
  state_ = state::publishing;
  batch_ = std::move(claimed);
  order_ = batch_order(batch_.events, settings_.order);
  ++generation_;
  unconfirmed_ = 0;
  full_ = false;
  closed_ = !ready();
  last_progress_ = host_.now();
  // Half of the claim's time to send, the other half for the last confirms: the server ends the claim after
  // the whole.
  send_until_ = last_progress_ + settings_.claim_timeout / 2;
  // Confirms that trickle in have to be marked while the claim is still held, or the batch would start over for ever.
  settle_by_ = last_progress_ + settings_.claim_timeout * 7 / 8;
  successors_until_ = last_progress_ + settings_.successor_window;
  if (batch_.more || batch_.events.size() >= settings_.batch) host_.on_more_work(*this);
  pump();
}

void lane::pump() {
  // A process that was stopped for a while may find its claim gone: nothing new is sent on an old one.
  const auto now = host_.now();
  if (now >= send_until_) closed_ = true;
  // A long queue of one aggregate goes one by one, while the batch holds the shards of others: their turn.
  if (now >= successors_until_ && order_.only_successors_left()) closed_ = true;
  full_ = false;
  while (!closed_ && !blocked_ && !full_) {
    const auto next = order_.front();
    if (!next) break;
    if (send(*next)) order_.pop();
  }
  const bool more_to_send = !closed_ && !blocked_ && order_.front().has_value();
  if (unconfirmed_ == 0 && !more_to_send) {
    settle();
  } else {
    host_.on_waiting(*this);
  }
}

// False: no room, to be tried again.
bool lane::send(std::size_t index) {
  const event& next = batch_.events[index];
  if (next.behind) {
    set_back(next, {.id = next.id, .what = setback::kind::behind, .behind = next.behind, .reason = {}});
    order_.finish(index);  // its successors were claimed behind it, too, and go the same way
    return true;
  }
  const auto sent = broker_.publish(name_of(index), envelope(next, batch_.payload, settings_.route));
  if (!sent) {
    set_back(next, {.id = next.id,
                    .what = setback::kind::dead,
                    .counts_attempt = true,
                    .behind = {},
                    .reason = sent.error().message});
    finish(next);
    order_.finish(index);
    return true;
  }
  full_ = *sent == accepted::full;
  if (!full_) ++unconfirmed_;
  return !full_;
}

void lane::on_outcomes(std::span<const outcome> outcomes) {
  if (state_ != state::publishing) return;
  for (const outcome& one : outcomes) take(one);
  pump();
}

void lane::take(const outcome& one) {
  if (one.id >> 32U != generation_) return;  // sent for a claim that is gone
  const auto index = static_cast<std::size_t>(one.id & 0xFFFFFFFFU);
  const event& which = batch_.events[index];
  --unconfirmed_;
  last_progress_ = host_.now();
  switch (one.what) {
    case verdict::acked:
      settlement_.published.push_back(which.id);
      finish(which);
      order_.finish(index);
      return;
    case verdict::returned:
      set_back(which, {.id = which.id,
                       .counts_attempt = true,
                       .delay = settings_.failure_delay,
                       .behind = {},
                       .reason = fmt::format("returned by the broker: {}", one.reason)});
      return;
    case verdict::nacked:
      set_back(which, {.id = which.id,
                       .delay = settings_.failure_delay,
                       .behind = {},
                       .reason = "nacked by the broker: it could not take the message"});
      return;
  }
}

// Published or dead: those that wait behind it may go.
void lane::finish(const event& which) {
  if (batch_.shard_waits) settlement_.released.push_back(which.seq);
}

void lane::set_back(const event& which, setback how) {
  host_.on_set_back(*this, which, how);
  settlement_.set_back.push_back(std::move(how));
}

void lane::on_writable() {
  if (state_ == state::publishing && full_) pump();
}

std::optional<clock::time_point> lane::deadline() const {
  if (state_ != state::publishing) return std::nullopt;
  return std::min(last_progress_ + settings_.confirm_timeout, settle_by_);
}

void lane::check() {
  const auto due = deadline();
  if (!due || host_.now() < *due) return;
  broker_up_ = false;  // until it is up again
  broker_.drop(*due == settle_by_ ? "the confirms take longer than the claim may last"
                                  : fmt::format("no confirm for {} ms", settings_.confirm_timeout.count()));
  settle();
}

void lane::settle() {
  const bool again = ready();
  state_ = state::settling;
  settling_ = settlement_.published.size();
  if (again) host_.on_claim_sent(*this);
  outbox_.settle(settlement_, again ? then::claim : then::release);
  settlement_ = {};
  batch_ = {};
}

void lane::on_settled() {
  if (settling_ > 0) host_.on_published(*this, std::exchange(settling_, 0));
}

void lane::become_idle() {
  state_ = state::idle;
  settling_ = 0;
  settlement_ = {};
  batch_ = {};
  host_.on_idle(*this);
}

}  // namespace outboxd::relay

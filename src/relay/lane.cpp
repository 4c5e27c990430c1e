#include "relay/lane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/failpoint.hpp"

namespace outboxd::relay {

// A claim right after a batch that had all there was would find a small one, for about the same price: the next look
// finds more.
bool lane::light() const {
  return !plenty_ && host_.looks_come();
}

// A claim right after the batch would find no event that has been told of: it had all there was, and nobody has rung since.
bool lane::calm() const {
  return complete_ && !plenty_ && host_.rings() == rings_;
}

bool lane::wake() {
  if (state_ != state::idle || !ready()) return false;
  state_ = state::claiming;
  before_claim();
  outbox_.claim(light() ? reach::all : reach::share);
  return true;
}

void lane::before_claim() {
  rings_ = host_.rings();
  host_.on_claim_sent(*this);
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
  const bool look_can_wait = look_can_wait_ && calm();
  on_settled();
  become_idle();
  if (light()) return;
  // The broker may have come back meanwhile, and what was committed meanwhile found its shard taken.
  if (look_can_wait)
    host_.on_look_owed(*this);
  else
    wake();
}

void lane::on_claimed(batch claimed) {
  on_settled();
  plenty_ = claimed.full || claimed.events.size() >= settings_.batch;
  complete_ = claimed.complete;
  host_.on_claim_answered(*this, claimed.events.size());
  if (claimed.events.empty()) {
    become_idle();
    return;
  }
  begin(std::move(claimed));
}

void lane::begin(batch claimed) {
  failpoint("claimed");
  state_ = state::publishing;
  delivery_ = delivery(std::move(claimed), settings_.delivery, ++generation_);
  closed_ = !ready();
  claimed_at_ = last_progress_ = host_.now();
  // Half of the claim's time to send, the other half for the last confirms: the server ends the claim after
  // the whole.
  send_until_ = last_progress_ + settings_.claim_timeout / 2;
  // Confirms that trickle in have to be marked while the claim is still held, or the batch would start over for ever.
  settle_by_ = last_progress_ + settings_.claim_timeout * 7 / 8;
  successors_until_ = last_progress_ + settings_.successor_window;
  if (plenty_ || (delivery_.claimed().more && !light())) host_.on_more_work(*this);
  pump();
}

void lane::pump() {
  // A process that was stopped for a while may find its claim gone: nothing new is sent on an old one.
  const auto now = host_.now();
  if (now >= send_until_) closed_ = true;
  // A long queue of one aggregate goes one by one, while the batch holds the shards of others: their turn.
  if (now >= successors_until_ && delivery_.only_successors_left()) closed_ = true;
  const bool sending = !closed_ && !blocked_;
  if (sending) delivery_.send(broker_, chance_);
  if (delivery_.in_flight() == 0 && !(sending && delivery_.has_more())) {
    settle();
  } else {
    host_.on_waiting(*this);
  }
}

void lane::on_outcomes(std::span<const outcome> outcomes) {
  if (state_ != state::publishing) return;
  for (const outcome& one : outcomes)
    if (delivery_.take(one, chance_)) last_progress_ = host_.now();
  pump();
}

void lane::on_channel_closed(std::span<const token> unknown, std::string_view reason) {
  if (state_ != state::publishing) return;
  delivery_.on_channel_closed(unknown, reason, chance_);
  last_progress_ = host_.now();
  pump();
}

void lane::on_writable() {
  if (state_ == state::publishing && delivery_.full()) pump();
}

std::optional<clock::time_point> lane::deadline() const {
  if (state_ != state::publishing) return std::nullopt;
  return std::min(last_progress_ + settings_.confirm_timeout, settle_by_);
}

// A broker that has said that it takes nothing is well: dropping the connection would only repeat what it already has.
void lane::check() {
  const auto due = deadline();
  if (!due || host_.now() < *due) return;
  if (!blocked_) {
    broker_up_ = false;  // until it is up again
    broker_.drop(*due == settle_by_ ? "the confirms take longer than the claim may last"
                                    : fmt::format("no confirm for {} ms", settings_.confirm_timeout.count()));
  }
  settle();
}

void lane::settle() {
  state_ = state::settling;
  const settlement& result = delivery_.conclude();
  plenty_ = plenty_ || result.published.size() + result.set_back.size() < delivery_.claimed().events.size();
  look_can_wait_ = ready() && calm() && result.released.empty();
  const bool again = ready() && !light() && !look_can_wait_;
  settling_ = result.published.size();
  for (std::size_t i = 0; i < result.set_back.size(); ++i)
    host_.on_set_back(*this, delivery_.set_back_event(i), result.set_back[i]);
  if (again) before_claim();
  failpoint("marking");
  outbox_.settle(result, again ? then::claim : then::release);
  end_delivery();
}

void lane::end_delivery() {
  totals_ += delivery_.totals();
  delivery_ = {};
}

void lane::on_settled() {
  if (settling_ > 0) host_.on_published(*this, std::exchange(settling_, 0), host_.now() - claimed_at_);
}

void lane::become_idle() {
  state_ = state::idle;
  settling_ = 0;
  end_delivery();
  host_.on_idle(*this);
}

}  // namespace outboxd::relay

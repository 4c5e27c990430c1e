#include "flow/dispatch/lane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace outboxd::flow {
namespace {

using namespace std::chrono_literals;

// A connection opened earlier may lack a permission that a new one has, because its token has expired.
constexpr auto fresh_login = 10s;

// How long to wait for outstanding confirms before a connection is renewed. If they do not arrive, the
// connection is kept, and renewed another time.
constexpr auto renewal_limit = 1s;

// A node that is cut off from its cluster accepts messages but confirms none until it notices, and a new
// channel may wait for a dead node. So a silent connection is dropped early if there is another node, or if
// this connection has confirmed nothing yet. The limit doubles after all nodes of the list have been tried.
constexpr clock::duration first_silence_limit = 3'500ms;

// Maximum returning events in flight: about as many as a broker confirms in a few milliseconds, because new
// events are confirmed after them.
constexpr std::size_t most_returning_in_flight = 256;

}  // namespace

void lane::pump() {
  while (send_next()) continue;
}

bool lane::send_next() {
  while (state_ == state::open) {
    if (sent_.is_alone()) return false;
    const auto one = waiting_.next(
        {.idle = sent_.in_flight() == 0, .for_returning = sent_.returning() < most_returning_in_flight});
    if (!one) return false;
    const auto now = owner_.now();
    if (!one->whose->is_fresh(one->which, now)) {
      if (told_full_) return false;
      waiting_.take(*one);
      one->whose->on_stale(one->which, now);
      continue;
    }
    const auto taken = one->whose->message_of(one->which).and_then([this](const message& what) {
      return broker_.publish(sent_.next(), what);
    });
    if (taken && *taken == accepted::full) {
      if (!full_since_) full_since_ = now;
      told_full_ = true;
      return false;
    }
    full_since_.reset();
    waiting_.take(*one);
    if (!taken) {
      one->whose->on_unencodable(one->which, taken.error().message);
      continue;
    }
    sent_.add(*one, now);
    one->whose->on_sent(one->which);
    return true;
  }
  return false;
}

void lane::withdraw(lane_client& whose, const std::function<bool(slot)>& which) {
  for (const slot one : waiting_.withdraw(whose, which)) whose.on_unsent(one);
}

void lane::forget(const lane_client& whose) {
  waiting_.withdraw(whose, [](slot) { return true; });
  sent_.forget(whose);
}

// A slow broker confirms in order, however long that takes, so only a confirm of a later message shows that
// an earlier one is missing. While a message travels alone, no later message is sent.
clock::time_point lane::late_at(const sent_messages::sent& one) const {
  if (one.overtaken) return *one.overtaken + limits_.confirm_timeout;
  if (one.what.alone) return one.at + limits_.confirm_timeout;
  // A channel may wait for seconds before each nack, so nacks do not show that the connection is alive.
  if (!nacks_.is_proven()) return one.at + silence_limit();
  return std::max(one.at, latest_outcome_) + silence_limit();
}

// The limit for an overtaken message is longer than the limit for a silent connection.
clock::time_point lane::first_late_at() const {
  const auto oldest = late_at(sent_.oldest());
  const auto* const in_turn = sent_.oldest_in_turn();
  return in_turn == nullptr ? oldest : std::min(oldest, late_at(*in_turn));
}

clock::duration lane::silence_limit() const {
  constexpr int enough_doublings = 12;  // a limit of more than an hour
  if (nacks_.is_proven() && broker_.urls() == 1) return limits_.confirm_timeout;
  return std::min<clock::duration>(
      limits_.confirm_timeout,
      first_silence_limit * (1 << std::min(silent_ends_ / broker_.urls(), enough_doublings)));
}

void lane::on_outcomes(std::span<const outcome> outcomes) {
  latest_outcome_ = owner_.now();
  told_full_ = false;
  for (const outcome& one : outcomes) {
    const auto was = sent_.close(one.id, latest_outcome_);
    if (!was) continue;
    const queued_message& what = was->what;
    const auto after_sent = latest_outcome_ - was->at;
    if (one.what == verdict::acked) {
      owner_.on_acknowledged(after_sent);
      // A slower ack does not reset the learned silence limit, because the broker may be slow.
      if (after_sent < first_silence_limit) silent_ends_ = 0;
    }
    if (what.whose != nullptr) note_refusal(what, one.what);
    if (what.whose != nullptr) what.whose->on_outcome(what.which, one, was->at);
  }
  sent_.drop_closed();
  renew_if_refused();
  owner_.pump_and_tell();
}

void lane::note_refusal(const queued_message& what, verdict said) {
  if (said == verdict::nacked) nacks_.on_nacked(what.whose->target_of(what.which), latest_outcome_);
  if (said == verdict::acked && nacks_.waits_for_ack()) nacks_.on_acked(what.whose->target_of(what.which));
}

// A renewal must not cause messages in flight to be sent twice.
void lane::renew_if_refused() {
  if (state_ == state::open && nacks_.worth_renewing(latest_outcome_)) {
    nacks_.on_renewal(latest_outcome_);
    state_ = state::renewing;
    renewing_until_ = latest_outcome_ + renewal_limit;
  }
  if (in_flight() > 0) return;
  if (broker_.urls() > 1 && nacks_.nothing_else(latest_outcome_))
    return broker_.drop("RabbitMQ refuses everything on it (basic.nack)");
  if (state_ == state::renewing)
    broker_.drop("RabbitMQ has refused messages on it for long (basic.nack); a new connection may do better");
}

void lane::on_channel_closed(std::span<const token>, const refusal& why) {
  latest_outcome_ = owner_.now();
  const bool forbidden = why.part == refused_part::permission || why.part == refused_part::topic;
  const bool stale = forbidden && latest_outcome_ - up_since_ > fresh_login;
  if (stale) broker_.drop(fmt::format("{}; logging in again", why.reason));
  give_back({ending::channel_closed, why.reason, why.part}, in_flight() == 1 && !stale);
  owner_.on_lane_changed();
  renew_if_refused();
}

// Returns all messages to their owners, so that those which may have been sent are offered again before their
// successors. `alone`: only one message was in flight.
void lane::give_back(const interruption& why, bool alone) {
  const auto unsent = waiting_.take_all();
  const auto was_sent = sent_.take_all();
  for (const queued_message& one : unsent) one.whose->on_unsent(one.which);
  for (const auto& one : was_sent)
    if (one.open && one.what.whose != nullptr)
      one.what.whose->on_interrupted(one.what.which, why, alone, up_since_);
}

void lane::on_broker_up() {
  state_ = state::open;
  up_since_ = latest_outcome_ = owner_.now();
  told_full_ = false;
  full_since_.reset();
  nacks_.on_up(latest_outcome_);
  owner_.on_lane_up();
}

void lane::on_blocked(bool blocked) {
  if (state_ == state::down || state_ == state::dropped) return;
  state_ = blocked ? state::blocked : state::open;
  latest_outcome_ = owner_.now();
  // Time during which the lane was blocked does not count.
  sent_.postpone(latest_outcome_);
  if (full_since_) full_since_ = latest_outcome_;
  owner_.on_lane_changed();
}

void lane::on_broker_down(const interruption& why) {
  const bool silent = std::exchange(state_, state::down) == state::dropped;
  give_back(silent ? interruption{.how = ending::unconfirmed} : why, in_flight() == 1);
  owner_.on_lane_changed();
}

// No deadline applies while the broker blocks publishers: it is healthy, and a new connection would only send
// it the same messages again.
std::optional<clock::time_point> lane::deadline() const {
  if (state_ == state::renewing && !sent_.empty()) return std::min(renewing_until_, first_late_at());
  if (state_ != state::open) return std::nullopt;
  if (!sent_.empty()) return first_late_at();
  // The window is full, but no client waits for the outcomes of its messages.
  if (full_since_) return *full_since_ + limits_.confirm_timeout;
  return std::nullopt;
}

void lane::check() {
  const auto due = deadline();
  if (!due || owner_.now() < *due) return;
  if (state_ == state::renewing) {
    state_ = state::open;
    return owner_.pump_and_tell();
  }
  const auto is_late = [this](const sent_messages::sent& one) {
    return (one.overtaken || one.what.alone) && late_at(one) <= owner_.now();
  };
  // If only one message was in flight, its silence says nothing about the connection.
  if (sent_.empty() || !is_late(sent_.oldest())) {
    const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(silence_limit());
    ++silent_ends_;
    state_ = state::dropped;
    return broker_.drop(fmt::format("no confirm for {} ms", waited.count()));
  }
  while (!sent_.empty() && (!sent_.oldest().open || is_late(sent_.oldest()))) {
    const auto late = sent_.pop_oldest();
    if (late.open && late.what.whose != nullptr) late.what.whose->on_overdue(late.what.which);
  }
  owner_.pump_and_tell();
}

}  // namespace outboxd::flow

// dispatcher_outcomes: the part of dispatcher.hpp that handles the outcome of a sent message.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/failpoint.hpp"
#include "flow/stream/dispatcher.hpp"

namespace outboxd::flow {
namespace {

// The forms of a dead letter: the original message, a form without the parts that may not be encodable, and a
// form that also lacks the body.
constexpr int letter_forms = 3;

// Returns the failure that matches the refused part of the destination.
failure failure_at(refused_part part) {
  switch (part) {
    case refused_part::permission:
      return failure::forbidden;
    case refused_part::topic:
      return failure::topic_forbidden;
    case refused_part::message:
    case refused_part::exchange:
      return failure::refused;
  }
  return failure::refused;
}

failure_scope scope_of(failure why) {
  if (why == failure::topic_forbidden) return failure_scope::topic;
  return concerns_exchange(why) ? failure_scope::exchange : failure_scope::routing_key;
}

}  // namespace

void dispatcher::on_outcome(slot which, const outcome& what, clock::time_point sent_at) {
  if (events_.at(which).is<stage::letter>())
    return end_letter(which, what.what == verdict::acked      ? std::string_view()
                             : what.what == verdict::returned ? std::string_view(what.reason)
                                                              : "nacked");
  switch (what.what) {
    case verdict::acked: {
      failpoint("acked");
      state_.trace(step::acked, which, sent_at);
      const aggregate of = events_.aggregate_of(which);
      lanes_.destinations().on_delivered(state_.destination_of(which), seen_by_destinations(which),
                                         state_.now());
      say_delivered(which);
      settlement_.mark(which);
      offer_next(of);
      return;
    }
    case verdict::returned:
      state_.trace(step::returned, which);
      return fail(which, failure::returned, fmt::format("returned by the broker: {}", what.reason));
    case verdict::nacked:
      state_.trace(step::nacked, which);
      return fail(which, failure::nacked, "nacked by the broker: it could not take the message");
  }
}

void dispatcher::say_delivered(slot which) const {
  if (const auto now = state_.server_clock.at(state_.now()))
    state_.tell(
        notice::delivered{*now - std::clamp(events_.at(which).it.what.created_at, timestamp(), *now)});
}

void dispatcher::on_unencodable(slot which, std::string reason) {
  if (auto* const letter = std::get_if<stage::letter>(&events_.at(which).now)) {
    if (!state_.runs() || ++letter->form > letter_forms) return end_letter(which, reason);
    on_unsent(which);
    return offer_next(events_.aggregate_of(which));
  }
  fail(which, failure::unencodable, std::move(reason));
}

void dispatcher::on_interrupted(slot which, const interruption& why, bool alone, clock::time_point up_since) {
  state_.trace(step::interrupted, which);
  auto& one = events_.at(which);
  // The queue may hang, not the node. Without this limit, the event would be sent again and again while
  // nothing else is read.
  if (why.how == ending::unconfirmed &&
      (std::exchange(one.so_far.unconfirmed, true) || one.it.read_for_destination))
    return give_up_waiting(which, "no confirm in time, on two connections");
  const bool channel = why.how == ending::channel_closed;
  const auto seen = up_since < one.so_far.latest ? incident::perhaps_known : incident::another;
  one.so_far.latest = state_.now();
  const auto [now, blamed] = suspicion_after(one.so_far.suspected, why.how, alone, seen);
  one.so_far.suspected = now;
  if (!blamed) return on_unsent(which);
  const auto reason = channel ? fmt::format("refused by the broker: {}", why.reason)
                      : why.reason.empty()
                          ? "the connection ended twice without a reason while only this event was in flight"
                          : fmt::format("the broker closed the connection over it: {}", why.reason);
  if (one.is<stage::letter>()) return end_letter(which, reason);
  if (channel && why.part != refused_part::message) return fail(which, failure_at(why.part), reason);
  fail(which, channel ? failure::channel_closed : failure::connection_closed, reason);
}

void dispatcher::on_overdue(slot which) {
  give_up_waiting(which, "the broker confirmed other events, but not this one in time");
}

void dispatcher::give_up_waiting(slot which, std::string reason) {
  if (events_.at(which).is<stage::letter>()) return end_letter(which, "no confirm in time");
  fail(which, failure::unconfirmed, std::move(reason));
}

void dispatcher::fail(slot which, failure why, std::string reason) {
  const remedy what = judge(why);
  if (what == remedy::dead_letter) return die(which, why, std::move(reason));
  if (events_.find_chain(events_.aggregate_of(which))->first != which) return try_as_first(which);
  if (what == remedy::retry_with_backoff) return count_attempt(which, why, std::move(reason));
  const auto of = lanes_.destinations().on_failed(
      state_.destination_of(which), why, seen_by_destinations(which), state_.client, reason, state_.now());
  wait_for_destination(which, of, why, std::move(reason), true);
}

// The event may back off only as the first of its chain: if earlier events were lost in flight, it would
// otherwise return before them.
void dispatcher::try_as_first(slot which) {
  events_.at(which).goes_as_first = true;
  on_unsent(which);
}

void dispatcher::count_attempt(slot which, failure why, std::string reason) {
  const event& one = events_.at(which).it.what;
  const auto failures = std::int64_t{one.attempts} + 1;
  const auto delay = failures > limits_.retry.max_attempts()
                         ? std::nullopt
                         : limits_.retry.delay_after(static_cast<int>(failures), chance_);
  if (!delay) return die(which, why, fmt::format("given up after {} failed attempts: {}", failures, reason));
  report_and_wait(which, {.key = one.key(),
                          .counts_attempt = true,
                          .delay = *delay,
                          .code = std::string(name_of(why)),
                          .reason = std::move(reason)});
}

// Uses the time on PostgreSQL's clock, which the stream estimates.
bool dispatcher::is_given_up(const stored_event& one) const {
  constexpr std::chrono::milliseconds precision{100};
  if (!limits_.give_up_after || !one.first_failed_at) return false;
  const auto now = state_.server_clock.at(state_.now());
  return now && *one.first_failed_at <= *now - (*limits_.give_up_after - precision);
}

void dispatcher::wait_for_blocked(slot which, const destinations::block& by) {
  wait_for_destination(
      which, by.of, by.why,
      fmt::format("not sent, because its {} did not accept another event: {}",
                  is_exchange(by.of) ? "exchange" : "exchange with its routing key", by.reason),
      false);
}

// If the event was read for this destination, its row already says that it waits for this destination.
void dispatcher::wait_for_destination(slot which, destination_id for_what, failure why, std::string reason,
                                      bool sent) {
  const stored_event& one = events_.at(which).it;
  if (is_given_up(one))
    return die(
        which, why,
        fmt::format("given up after {} s: {}", *limits_.give_up_after / std::chrono::seconds(1), reason));
  const destination to = state_.destination_of(which);
  failure_record how{.key = one.what.key(),
                     .delay = limits_.give_up_after,
                     .waits_for = for_what,
                     .exchange = std::string(to.exchange),
                     .routing_key = std::string(to.routing_key),
                     .code = std::string(name_of(why)),
                     .reason = std::move(reason),
                     .scope = scope_of(why)};
  if (!one.read_for_destination || one.waits_for != for_what) {
    if (!sent) lanes_.destinations().on_waits(for_what, state_.client);
    return report_and_wait(which, std::move(how), sent);
  }
  if (sent) state_.tell(notice::failed{one.what, to, how});
  leave_unrecorded(which);
}

// If a dead-letter exchange is set, the dead letter is sent first. The event stays in its chain until it is
// recorded: if the session is lost before, the event is read again before its successors. While the lead is
// given up, nothing is sent: the next leader comes to the same result and sends the dead letter.
void dispatcher::die(slot which, failure why, std::string reason) {
  const bool has_letter = !limits_.dead_letter_exchange.empty() && why != failure::unreadable;
  if (has_letter && !state_.runs())
    return report_and_wait(which, {.key = events_.at(which).it.what.key(),
                                   .code = std::string(name_of(why)),
                                   .reason = std::move(reason)});
  failure_record how{.key = events_.at(which).it.what.key(),
                     .to = exception::dead,
                     .counts_attempt = judge(why) != remedy::wait_for_destination,
                     .code = std::string(name_of(why)),
                     .reason = std::move(reason)};
  if (!has_letter) return dead_letter(which, std::move(how));
  on_unsent(which);
  events_.at(which).now = stage::letter{kept(std::move(how))};
  offer_next(events_.aggregate_of(which));
}

// The event becomes dead in any case; a failure of its dead letter is only reported.
void dispatcher::end_letter(slot which, std::string_view trouble) {
  failure_record how = std::move(*std::get<stage::letter>(events_.at(which).now).how);
  if (!trouble.empty()) how.reason += fmt::format("; its dead-letter message failed: {}", trouble);
  dead_letter(which, std::move(how));
}

void dispatcher::dead_letter(slot which, failure_record how) {
  on_unsent(which);
  state_.tell(notice::failed{events_.at(which).it.what, state_.destination_of(which), how});
  settlement_.record_dead(which, std::move(how));
}

void dispatcher::on_recorded_dead(slot which) {
  const aggregate of = events_.aggregate_of(which);
  events_.leave_chain(which);
  if (limits_.after_dead == after_dead::hold) {
    barriers_.dead.add(of);
    barriers_.held.begin(of, hold::draining);
    park_others(of);
  }
  if (events_.length_of(of) == 0) barriers_.held.on_head_settled(of);
  events_.erase(which);
  offer_next(of);
}

}  // namespace outboxd::flow

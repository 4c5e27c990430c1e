// The part of stream.hpp between the broker's outcomes and the table.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/failpoint.hpp"
#include "core/to_message.hpp"
#include "flow/stream/stream.hpp"

namespace outboxd::flow {
namespace {

// The forms of a dead letter: as the event was, without what may not be encodable, and without its body.
constexpr int letter_forms = 3;

// Chosen by the refused part of the destination.
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

result<message> stream::letter_of(slot which) {
  const auto& one = events_.at(which);
  auto formed = to_message(one.it.what, agenda_.payload, limits_.route, one.route.get());
  const auto* const letter = std::get_if<stage::letter>(&one.now);
  if (letter == nullptr) return formed;
  message out = formed ? std::move(*formed) : to_message(one.it.what, agenda_.payload, limits_.route);
  out.dead_reason = letter->how->reason;
  out.dead_exchange = out.exchange;
  out.dead_routing_key = out.routing_key;
  out.exchange = limits_.dead_letter_exchange;
  if (letter->form > 1) {
    out.headers = "{}";
    out.default_headers.clear();
    out.routing_key = "dead";
    out.dead_routing_key = {};
  }
  if (letter->form > 2) out.body = {};
  return out;
}

void stream::leave_chain(slot which) {
  auto& one = events_.at(which);
  auto* const chain = events_.find_chain(one.it.what.aggregate);
  if (one.is_offered() && chain != nullptr) --chain->offered;
  events_.leave_chain(which);
}

void stream::on_outcome(slot which, const outcome& what) {
  if (events_.at(which).is<stage::letter>())
    return end_letter(which, what.what == verdict::acked      ? std::string_view()
                             : what.what == verdict::returned ? std::string_view(what.reason)
                                                              : "nacked");
  switch (what.what) {
    case verdict::acked: {
      failpoint("acked");
      tell(step::acked, which);
      const aggregate of = events_.aggregate_of(which);
      lanes_.destinations().on_delivered(destination_of(which), seen_by_destinations(which), lanes_.now());
      say_delivered(which);
      leave_chain(which);
      events_.at(which).now = stage::confirmed{};
      writes_.marks.add(which, lanes_.now());
      offer_next(of);
      return;
    }
    case verdict::returned:
      tell(step::returned, which);
      return fail(which, failure::returned, fmt::format("returned by the broker: {}", what.reason));
    case verdict::nacked:
      tell(step::nacked, which);
      return fail(which, failure::nacked, "nacked by the broker: it could not take the message");
  }
}

void stream::say_delivered(slot which) const {
  if (const auto now = agenda_.server_clock.at(lanes_.now()))
    tell_(notice::delivered{*now - std::clamp(events_.at(which).it.what.created_at, timestamp(), *now)});
}

void stream::say_step(step what, slot which) const {
  const auto& one = events_.at(which);
  destination to = destination_of(which);
  if (what == step::sent && one.is<stage::letter>()) {
    what = step::letter_sent;
    to = target_of(which);
  }
  steps_->on_step({.what = what, .of = one.it.what, .to = to, .lane = one.lane});
}

void stream::on_unencodable(slot which, std::string reason) {
  if (auto* const letter = std::get_if<stage::letter>(&events_.at(which).now)) {
    if (phase_ != phase::running || ++letter->form > letter_forms) return end_letter(which, reason);
    on_unsent(which);
    return offer_next(events_.aggregate_of(which));
  }
  fail(which, failure::unencodable, std::move(reason));
}

void stream::on_interrupted(slot which, const interruption& why, bool alone, clock::time_point up_since) {
  tell(step::interrupted, which);
  auto& one = events_.at(which);
  // Its queue may be silent, not the node: without a limit it would be sent for ever while nothing else is
  // read.
  if (why.how == ending::unconfirmed && (std::exchange(one.so_far.unconfirmed, true) || one.it.rests))
    return give_up_waiting(which, "no confirm in time, on two connections");
  const bool channel = why.how == ending::channel_closed;
  const auto seen = up_since < one.so_far.latest ? incident::perhaps_known : incident::another;
  one.so_far.latest = lanes_.now();
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

void stream::on_overdue(slot which) {
  give_up_waiting(which, "the broker confirmed other events, but not this one in time");
}

void stream::give_up_waiting(slot which, std::string reason) {
  if (events_.at(which).is<stage::letter>()) return end_letter(which, "no confirm in time");
  fail(which, failure::unconfirmed, std::move(reason));
}

destination stream::destination_of(slot which) const {
  const auto& found = events_.at(which);
  return destination_of(found.it.what, found.route.get());
}

destination stream::destination_of(const event& one, const routed* route) const {
  if (route != nullptr) return {.exchange = route->exchange, .routing_key = route->routing_key};
  return {.exchange = one.exchange ? *one.exchange : std::string_view(limits_.route.exchange),
          .routing_key = one.routing_key.value_or(one.event_type)};
}

// A dead letter keeps its routing key.
destination stream::target_of(slot which) const {
  destination out = destination_of(which);
  if (events_.at(which).is<stage::letter>()) out.exchange = limits_.dead_letter_exchange;
  return out;
}

destinations::sent_event stream::seen_by_destinations(slot which) const {
  const stored_event& one = events_.at(which).it;
  return {.seq = one.what.seq, .waited_for = one.waits_for};
}

void stream::fail(slot which, failure why, std::string reason) {
  const remedy what = judge(why);
  if (what == remedy::dead_letter) return die(which, why, std::move(reason));
  if (events_.find_chain(events_.aggregate_of(which))->first != which) return try_as_first(which);
  if (what == remedy::retry) return count_attempt(which, why, std::move(reason));
  const auto of = lanes_.destinations().on_failed(destination_of(which), why, seen_by_destinations(which),
                                                  client_, reason, lanes_.now());
  wait_for_destination(which, of, why, std::move(reason), true);
}

// If it backed off now and the earlier events were lost in flight, it would return before them.
void stream::try_as_first(slot which) {
  events_.at(which).goes_as_first = true;
  on_unsent(which);
  if (phase_ != phase::running) forget_unsent();
}

void stream::count_attempt(slot which, failure why, std::string reason) {
  const event& one = events_.at(which).it.what;
  const auto failures = std::int64_t{one.attempts} + 1;
  const auto delay = failures > limits_.retry.max_attempts()
                         ? std::nullopt
                         : limits_.retry.delay_after(static_cast<int>(failures), chance_);
  if (!delay) return die(which, why, fmt::format("given up after {} failed attempts: {}", failures, reason));
  back_off(which, {.key = one.key(),
                   .counts_attempt = true,
                   .delay = *delay,
                   .code = std::string(name_of(why)),
                   .reason = std::move(reason)});
}

// By PostgreSQL's clock, which the stream estimates.
bool stream::is_given_up(const stored_event& one) const {
  constexpr std::chrono::milliseconds precision{100};
  if (!limits_.give_up_after || !one.first_failed_at) return false;
  const auto now = agenda_.server_clock.at(lanes_.now());
  return now && *one.first_failed_at <= *now - (*limits_.give_up_after - precision);
}

void stream::wait_unsent(slot which, const destinations::block& by) {
  wait_for_destination(
      which, by.of, by.why,
      fmt::format("not sent, because its {} did not accept another event: {}",
                  is_exchange(by.of) ? "exchange" : "exchange with its routing key", by.reason),
      false);
}

// If it was read for that reason, its row already says that it waits, and for what.
void stream::wait_for_destination(slot which, destination_id for_what, failure why, std::string reason,
                                  bool sent) {
  const stored_event& one = events_.at(which).it;
  if (is_given_up(one))
    return die(
        which, why,
        fmt::format("given up after {} s: {}", *limits_.give_up_after / std::chrono::seconds(1), reason));
  const destination to = destination_of(which);
  failure_record how{.key = one.what.key(),
                     .delay = limits_.give_up_after,
                     .waits_for = for_what,
                     .exchange = std::string(to.exchange),
                     .routing_key = std::string(to.routing_key),
                     .code = std::string(name_of(why)),
                     .reason = std::move(reason),
                     .scope = scope_of(why)};
  if (!one.rests || one.waits_for != for_what) {
    if (!sent) lanes_.destinations().on_waits(for_what, client_);
    return back_off(which, std::move(how), sent);
  }
  if (sent) tell_(notice::failed{one.what, to, how});
  rest(which);
}

void stream::drop_probe(slot which) {
  const stored_event& one = events_.at(which).it;
  if (one.rests) lanes_.destinations().on_unsent(*one.waits_for, one.what.seq, lanes_.now());
}

void stream::rest(slot which) {
  const aggregate of = events_.aggregate_of(which);
  lanes_.destinations().on_found(*events_.at(which).it.waits_for, client_, lanes_.now());
  on_unsent(which);
  leave_chain(which);
  events_.erase(which);
  barriers_.held.begin(of, hold::head_waits);
  park_rest(of);
  offer_next(of);
}

void stream::back_off(slot which, failure_record how, bool sent) {
  tell_(notice::failed{events_.at(which).it.what, destination_of(which), how, sent});
  wait(which, std::move(how));
}

// This is no failure, and counts no attempt.
void stream::hold_back(slot which) {
  wait(which, {.key = events_.at(which).it.what.key(),
               .delay = std::nullopt,
               .code = std::string(paused_code),
               .reason = "its event type, its aggregate type or its destination is paused"});
}

void stream::wait(slot which, failure_record how) {
  const aggregate of = events_.aggregate_of(which);
  leave(which, std::move(how));
  barriers_.held.begin(of, hold::head_waits);
  barriers_.held.on_to_record(of);
  park_rest(of);
  offer_next(of);  // a successor whose dead letter is still to be sent was not parked: it goes now
}

void stream::park(slot which) {
  tell(step::parked, which);
  const aggregate of = events_.aggregate_of(which);
  leave(which, {.key = events_.at(which).it.what.key(), .to = exception::parked, .code = {}, .reason = {}});
  barriers_.held.on_to_record(of);
}

// Scheduled for later: it comes back when it is due, and takes its place then. Till then it holds nobody up.
void stream::set_aside(slot which, std::chrono::milliseconds due_in) {
  leave(which, {.key = events_.at(which).it.what.key(),
                .to = exception::scheduled,
                .delay = due_in,
                .code = {},
                .reason = {}});
}

void stream::leave(slot which, failure_record how) {
  drop_probe(which);
  leave_chain(which);
  events_.at(which).now = stage::leaving{kept(std::move(how))};
  writes_.records.add(which, lanes_.now());
}

// Whether, in pipelined order, an event is at no lane although a later one is at a lane and would overtake
// it.
bool stream::has_gap(const unsettled::chain& of) const {
  bool waits = false;
  for (slot which = of.first; which != no_slot; which = events_.at(which).after) {
    if (waits && events_.at(which).is_offered()) return true;
    waits = waits || events_.at(which).is_unsent();
  }
  return false;
}

// What is not sent yet waits behind the one that failed.
void stream::park_rest(aggregate of) {
  const auto* const chain = events_.find_chain(of);
  if (chain != nullptr && chain->offered > 0 && has_gap(*chain))
    lanes_.withdraw(*this, chain->lane, [&](slot which) { return events_.aggregate_of(which) == of; });
  slot next = chain == nullptr ? no_slot : chain->first;
  while (next != no_slot) {
    const slot which = std::exchange(next, events_.at(next).after);
    auto& one = events_.at(which);
    if (auto* const fetching = std::get_if<stage::fetching>(&one.now))
      fetching->waits_then = true;
    else if (one.is<stage::queued>())
      park_behind(which);
  }
}

// Events that are already parked are only forgotten.
void stream::park_behind(slot which) {
  if (events_.at(which).it.from != exception::parked) return park(which);
  events_.leave_chain(which);
  events_.erase(which);
}

// With a dead letter exchange its letter is sent first. It stays in its chain until it is recorded: if that
// is lost, it comes back before its successors. While the lead is given up nothing more is sent: the next
// leader finds the same, and sends the letter.
void stream::die(slot which, failure why, std::string reason) {
  const bool has_letter = !limits_.dead_letter_exchange.empty() && why != failure::unreadable;
  if (has_letter && phase_ != phase::running)
    return back_off(which, {.key = events_.at(which).it.what.key(),
                            .code = std::string(name_of(why)),
                            .reason = std::move(reason)});
  failure_record how{.key = events_.at(which).it.what.key(),
                     .to = exception::dead,
                     .counts_attempt = judge(why) != remedy::wait,
                     .code = std::string(name_of(why)),
                     .reason = std::move(reason)};
  if (!has_letter) return dead_letter(which, std::move(how));
  on_unsent(which);
  events_.at(which).now = stage::letter{kept(std::move(how))};
  offer_next(events_.aggregate_of(which));
}

// The event is dead in any case; a failed dead letter is only reported.
void stream::end_letter(slot which, std::string_view trouble) {
  failure_record how = std::move(*std::get<stage::letter>(events_.at(which).now).how);
  if (!trouble.empty()) how.reason += fmt::format("; its dead-letter message failed: {}", trouble);
  dead_letter(which, std::move(how));
}

void stream::dead_letter(slot which, failure_record how) {
  on_unsent(which);
  tell_(notice::failed{events_.at(which).it.what, destination_of(which), how});
  events_.at(which).now = stage::dying{kept(std::move(how))};
  writes_.records.add(which, lanes_.now());
}

const failure_record& stream::to_record(slot which) const {
  const auto& now = events_.at(which).now;
  if (const auto* const dead = std::get_if<stage::dying>(&now)) return *dead->how;
  return *std::get<stage::leaving>(now).how;
}

}  // namespace outboxd::flow

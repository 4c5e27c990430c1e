// What becomes of events: the part of stream.hpp between the broker's word and the table.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/failpoint.hpp"
#include "flow/stream.hpp"

namespace outboxd::flow {
namespace {

// The forms of a dead letter: as the event was, without what may not be encodable, and without its body.
constexpr int letter_forms = 3;

}  // namespace

message stream::letter_of(slot which) {
  const auto& one = events_.at(which).it.what;
  message out = envelope(one, payload_, limits_.route);
  const auto found = failed_.find(which);
  if (found == failed_.end()) return out;
  out.dead_reason = found->second.how.reason;
  out.dead_exchange = out.exchange;
  out.dead_routing_key = out.routing_key;
  out.exchange = limits_.dead_letter_exchange;
  if (found->second.letter > 1) {
    out.headers = "{}";
    out.routing_key = "dead";
    out.dead_routing_key = {};
  }
  if (found->second.letter > 2) out.body = {};
  return out;
}

void stream::leave_chain(slot which) {
  auto& one = events_.at(which);
  if (one.state == event_state::offered) --events_.find_chain(one.it.what.aggregate)->offered;
  events_.leave_chain(which);
}

void stream::on_outcome(slot which, const outcome& what) {
  if (failed_.contains(which))
    return bury(which, what.what == verdict::acked      ? std::string_view()
                       : what.what == verdict::returned ? std::string_view(what.reason)
                                                        : "nacked");
  switch (what.what) {
    case verdict::acked: {
      failpoint("acked");
      const aggregate of = events_.aggregate_of(which);
      lanes_.on_delivered(destination_of(which));
      leave_chain(which);
      events_.at(which).state = event_state::confirmed;
      writes_.marks.add(which, lanes_.now());
      offer_next(of);
      return;
    }
    case verdict::returned:
      return fail(which, failure::returned, fmt::format("returned by the broker: {}", what.reason));
    case verdict::nacked:
      return fail(which, failure::nacked, "nacked by the broker: it could not take the message");
  }
}

void stream::on_unencodable(slot which, std::string reason) {
  if (const auto found = failed_.find(which); found != failed_.end()) {
    if (phase_ != phase::running || ++found->second.letter > letter_forms) return bury(which, reason);
    on_unsent(which);
    return offer_next(events_.aggregate_of(which));
  }
  fail(which, failure::unencodable, std::move(reason));
}

void stream::on_interrupted(slot which, const interruption& why, bool alone) {
  auto& one = events_.at(which);
  const bool channel = why.how == ending::channel_closed;
  const auto [now, blamed] = suspicion_after(one.suspected, why.how, alone);
  one.suspected = now;
  if (!blamed) return on_unsent(which);
  const auto reason = channel ? fmt::format("refused by the broker: {}", why.reason)
                      : why.reason.empty()
                          ? "twice the connection was gone without a word, with this event alone in flight"
                          : fmt::format("the broker closed the connection over it: {}", why.reason);
  if (failed_.contains(which)) return bury(which, reason);
  if (channel && is_about_an_exchange(why.reason)) return fail(which, failure::refused, reason);
  count_attempt(which, channel ? failure::refused : failure::connection_closed, reason);
}

void stream::on_overdue(slot which) {
  if (failed_.contains(which)) return bury(which, "no confirm in time");
  fail(which, failure::unconfirmed, "the broker has confirmed others, and this one not in time");
}

destination stream::destination_of(slot which) const {
  const event& one = events_.at(which).it.what;
  return {.exchange = one.exchange ? *one.exchange : std::string_view(limits_.route.exchange),
          .routing_key = one.routing_key.value_or(one.event_type)};
}

void stream::fail(slot which, failure why, std::string reason) {
  if (judge(why).what == remedy::bury) return die(which, why, std::move(reason));
  const stored_event& one = events_.at(which).it;
  const auto whose = lanes_.destinations().on_failed(destination_of(which), why, one.what.id, one.excused,
                                                     reason, lanes_.now());
  if (whose == destinations::finding::own) return count_attempt(which, why, std::move(reason));
  excuse(which, why, std::move(reason), whose);
}

// Of nobody's failures only a pause is left; others count.
void stream::count_attempt(slot which, failure why, std::string reason) {
  const event& one = events_.at(which).it.what;
  failure_record how{.id = one.id, .code = std::string(name_of(why)), .reason = std::move(reason)};
  if (judge(why).what == remedy::retry_for_ever) {
    how.counts_deferral = true;
    how.delay = limits_.retry.pause_after(one.deferrals + 1, chance_);
    return back_off(which, std::move(how));
  }
  const auto failures = std::int64_t{one.attempts} + 1;
  const auto delay = failures > limits_.retry.max_attempts()
                         ? std::nullopt
                         : limits_.retry.delay_after(static_cast<int>(failures), chance_);
  if (!delay)
    return die(which, why, fmt::format("given up after {} failed attempts: {}", failures, how.reason));
  how.counts_attempt = true;
  how.delay = *delay;
  back_off(which, std::move(how));
}

// Of a destination that is down it comes back after those that were not tried: the next probe should be another one.
void stream::excuse(slot which, failure why, std::string reason, destinations::finding whose) {
  constexpr auto after_others = std::chrono::milliseconds(1'500);
  const bool counted = judge(why).what == remedy::retry;
  if (counted) reason += "; others got through before, so no attempt is counted";
  const auto delay = whose == destinations::finding::down
                         ? lanes_.destinations().probe_pause(destination_of(which)) + after_others
                         : limits_.retry.pause_after(events_.at(which).it.what.deferrals + 1, chance_);
  back_off(which, {.id = events_.at(which).it.what.id,
                   .counts_deferral = true,
                   .delay = delay,
                   .code = std::string(name_of(counted ? failure::destination_down : why)),
                   .reason = std::move(reason)});
}

// Not sent: a probe will tell when the destination works again.
void stream::wait_for_destination(slot which) {
  back_off(which, {.id = events_.at(which).it.what.id,
                   .counts_deferral = true,
                   .delay = lanes_.destinations().pause(destination_of(which)),
                   .code = std::string(name_of(failure::not_sent)),
                   .reason = "not sent: its exchange or routing key has stopped working"});
}

void stream::back_off(slot which, failure_record how) {
  const aggregate of = events_.aggregate_of(which);
  leave_chain(which);
  events_.at(which).state = event_state::waiting;
  if (hooks_.on_failed) hooks_.on_failed(events_.at(which).it.what, how);
  failed_[which].how = std::move(how);
  held_.begin(of, hold::head_waits);
  held_.on_to_record(of);
  writes_.records.add(which, lanes_.now());
  park_rest(of);
}

void stream::park(slot which) {
  const aggregate of = events_.aggregate_of(which);
  leave_chain(which);
  events_.at(which).state = event_state::waiting;
  failed_[which].how = {
      .id = events_.at(which).it.what.id, .to = exception::parked, .code = {}, .reason = {}};
  held_.on_to_record(of);
  writes_.records.add(which, lanes_.now());
}

// What is not sent yet waits behind the one that failed; what came from there is only forgotten.
void stream::park_rest(aggregate of) {
  const auto* const chain = events_.find_chain(of);
  slot next = chain == nullptr ? no_slot : chain->first;
  while (next != no_slot) {
    const slot which = std::exchange(next, events_.at(next).after);
    const auto& one = events_.at(which);
    if (one.state == event_state::fetching) continue;  // its answer comes first
    if (one.state != event_state::queued || failed_.contains(which)) continue;
    if (one.it.from == exception::parked) {
      events_.leave_chain(which);
      events_.erase(which);
    } else {
      park(which);
    }
  }
}

// With a dead letter exchange its letter is sent first. It stays in its chain until it is recorded: if that is lost, it comes
// back before its successors.
void stream::die(slot which, failure why, std::string reason) {
  auto& of = failed_[which];
  of.how = {.id = events_.at(which).it.what.id,
            .to = exception::dead,
            .counts_attempt = true,
            .code = std::string(name_of(why)),
            .reason = std::move(reason)};
  if (limits_.dead_letter_exchange.empty() || why == failure::unreadable || phase_ != phase::running)
    return bury(which, {});
  of.letter = 1;
  on_unsent(which);
  offer_next(events_.aggregate_of(which));
}

// Dead it is in any case; what the exchange did not take is only said.
void stream::bury(slot which, std::string_view trouble) {
  auto& how = failed_[which].how;
  if (!trouble.empty()) how.reason += fmt::format("; and its dead letter: {}", trouble);
  on_unsent(which);
  events_.at(which).state = event_state::dying;
  if (hooks_.on_failed) hooks_.on_failed(events_.at(which).it.what, how);
  writes_.records.add(which, lanes_.now());
}

void stream::say_stuck(const write_queue& what, const std::string& reason) {
  if (const auto which = what.stuck(); which && hooks_.on_stuck)
    hooks_.on_stuck(events_.at(*which).it.what, reason);
}

void stream::on_recorded(const write_answer& got) {
  const auto done = writes_.records.end(got.result, slots_of(got.left), lanes_.now());
  say_stuck(writes_.records, got.reason);
  for (const slot which : done) {
    const aggregate of = events_.aggregate_of(which);
    const auto found = failed_.find(which);
    const failure_record how = std::move(found->second.how);
    failed_.erase(found);
    if (how.to == exception::dead) {
      events_.leave_chain(which);
      if (events_.length_of(of) == 0) held_.on_head_settled(of);
      events_.erase(which);
      offer_next(of);
      continue;
    }
    events_.erase(which);
    held_.on_recorded(of);
    if (how.to == exception::backing_off) reader_.due_within(how.delay, lanes_.now());
  }
}

void stream::on_marked(const write_answer& got) {
  const auto done = writes_.marks.end(got.result, slots_of(got.left), lanes_.now());
  say_stuck(writes_.marks, got.reason);
  failpoint("marked");
  for (const slot which : done) {
    const aggregate of = events_.aggregate_of(which);
    events_.erase(which);
    if (events_.length_of(of) == 0) held_.on_head_settled(of);
  }
  if (!done.empty() && hooks_.on_published) hooks_.on_published(done.size());
}

}  // namespace outboxd::flow

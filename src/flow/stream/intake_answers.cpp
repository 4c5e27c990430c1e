// intake_answers: the part of intake.hpp after a round trip: adds the events read to their chains.
#include <algorithm>
#include <utility>

#include "flow/stream/intake.hpp"

namespace outboxd::flow {
namespace {

using namespace std::chrono_literals;

// For this long after a new event, more new events are expected.
constexpr auto new_ones_follow_for = 1s;

// A sequence may span all of bigint. Above a million, the exact number does not matter.
std::size_t seqs_between(std::int64_t low, std::int64_t high) {
  constexpr std::uint64_t enough = 1'000'000;
  return std::min(static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low), enough);
}

}  // namespace

read_news intake::take(const read_request& asked, tried<read_answer>& got) {
  const auto how = reader_.on_read(asked, got, state_.now());
  laggards_.on_passed(reader_.passed());
  if (got.wants_keys_only()) read_by_keys();
  read_news out{.read = how != reader::outcome::failed, .complete = how == reader::outcome::complete};
  if (got.result != read_result::done) return out;
  if (got.answer.top) out.passed = seqs_between(asked.from.seq, *got.answer.top);
  out.queue_usage = got.answer.queue_usage;
  if (got.answer.server_time)
    state_.server_clock.on_answer(state_.asked_at, state_.now(), *got.answer.server_time);
  if (asked.with_summary && (got.answer.holds || barriers_.held.size() > 0)) scanner_.scan_held();
  if (got.answer.late > asked.events) return out;
  for (stored_event& one : got.answer.rows) {
    // The rest of area (c) may contain an earlier event.
    if (!got.answer.saw_all && one.what.seq > asked.from.seq) break;
    if (admit(std::move(one))) ++out.found;
  }
  out.found += std::exchange(pace_.found_of_laggards, 0);
  if (out.found > 0) pace_.new_ones_until = state_.now() + new_ones_follow_for;
  pace_.behind = !out.complete;
  return out;
}

void intake::take(const left_request&, tried<std::vector<stored_event>>& got) {
  if (got.wants_keys_only()) read_by_keys();
  if (!scanner_.on_left(got, state_.now())) return;
  state_.phase = stream_phase::running;
  std::ranges::sort(got.answer, {}, [](const stored_event& one) { return one.what.seq; });
  for (stored_event& one : got.answer)
    if (one.from == exception::none) admit(std::move(one));
}

void intake::stamp_and_route(slot which) {
  auto& one = events_.at(which);
  one.seen_at = state_.asked_at;
  if (one.it.withheld) return;
  if (!limits_.route.routes.empty()) one.route = resolve(one.it.what, limits_.route);
  state_.trace(step::read, which);
}

// Returns true if the event is new.
bool intake::admit(stored_event one) {
  const aggregate of = one.what.aggregate;
  const auto due_in = one.due_in;
  if (laggards_.passes_over(of, one.what.seq)) return false;
  const bool held = barriers_.hold(of);
  const auto lags = laggards_.state_of(of);
  // A late event below the laggard's cursor may exceed the chain limit.
  const bool full = !held && !due_in && lags != lag::follows && events_.length_of(of) >= longest_chain() &&
                    events_.find(one.what.key()) == no_slot;
  if (full && !lags && laggards_.leave_behind(of, one.what.seq)) return false;
  const bool parked = held || full;
  const auto added = events_.add(std::move(one));
  if (!added) return false;
  laggards_.on_overtaking();
  stamp_and_route(*added);
  take_place(*added, due_in, parked);
  return true;
}

void intake::take_place(slot which, std::optional<std::chrono::milliseconds> due_in, bool parked) {
  if (due_in)
    dispatcher_.set_aside(which, *due_in);
  else if (parked)
    dispatcher_.park(which);
  else
    dispatcher_.offer_next(events_.aggregate_of(which));
}

// The first event of an aggregate that backs off is sent before all others of the aggregate; a scheduled
// event takes its place behind them.
void intake::admit_due(stored_event one) {
  const aggregate of = one.what.aggregate;
  const bool heads = one.from == exception::backing_off;
  const bool parked = one.earlier_waits || (!heads && (barriers_.hold(of) || is_full(of)));
  if (heads && !barriers_.held.holds(of))
    barriers_.held.begin(of, hold::head_waits);  // an operator has requeued it
  const auto added = events_.add(std::move(one));
  if (!added) return;
  stamp_and_route(*added);
  if (parked)
    dispatcher_.park(*added);
  else
    dispatcher_.offer_next(of);
}

void intake::take(const release_request& asked, tried<release_answer>& got) {
  if (got.wants_keys_only()) read_by_keys();
  if (got.result != read_result::done) return;  // the next sweep repeats the request
  auto& it = got.answer;
  std::vector<aggregate> more = std::move(it.more);
  std::vector<aggregate> taken;
  const auto to_record = settlement_.lowest_to_record();
  for (stored_event& one : it.rows) {
    const aggregate of = one.what.aggregate;
    const auto before = to_record.find(of);
    // Parked events above the rows read so far may have unread pending events before them.
    if (one.what.seq > reader_.read_to() || laggards_.passes_over(of, one.what.seq) ||
        (before != to_record.end() && one.what.seq > before->second)) {
      more.push_back(of);
      continue;
    }
    const auto added = events_.add(std::move(one));
    if (!added) continue;
    stamp_and_route(*added);
    if (taken.empty() || taken.back() != of) taken.push_back(of);
  }
  for (const aggregate of : asked.of) {
    if (std::find(it.backs_off.begin(), it.backs_off.end(), of) != it.backs_off.end())
      barriers_.held.on_head_waits(of);
    else if (std::find(more.begin(), more.end(), of) == more.end())
      barriers_.held.on_all_released(of);
  }
  for (const aggregate of : taken) dispatcher_.offer_next(of);
}

void intake::take(const failing_destinations_request&, tried<waits_answer>& got) {
  if (!scanner_.on_waits(got, state_.now())) return;
  for (const destination_id one : got.answer.found)
    lanes_.destinations().on_found(one, state_.client, state_.now());
}

// The broker closes the channel if a message names a missing exchange, so such a message travels alone.
void intake::take(const waiting_events_request& asked, tried<waiting_answer>& got) {
  if (got.wants_keys_only()) read_by_keys();
  waiting_.on_answer(asked, got, state_.now());
  if (got.result != read_result::done) return;
  for (stored_event& one : got.answer.rows) {
    const auto found = std::ranges::find(asked.of, one.waits_for, &waiting_events_request::look_up::of);
    if (found == asked.of.end()) continue;
    one.read_for_destination = true;
    one.suspect = one.suspect || (!found->all && is_exchange(found->of));
    admit_due(std::move(one));
  }
}

// Unsent messages are withdrawn from the lanes, because a lane may be blocked for long.
bool intake::take(const pauses_request&, tried<pauses_answer>& got) {
  if (!scanner_.on_pauses(got, state_.runs(), state_.now())) return false;
  const auto changed = barriers_.paused.set(std::move(got.answer.in_force));
  if (!changed.more && !changed.fewer) return false;
  state_.tell(notice::paused{barriers_.paused.in_force()});
  if (changed.more) dispatcher_.withdraw();
  if (changed.fewer) scanner_.resume();
  return true;
}

// The store checks only the types. An event without texts has no destination yet; it is checked after its
// texts have been fetched.
bool intake::is_still_paused(const stored_event& one) const {
  if (one.withheld || !barriers_.paused.by_destination()) return false;
  const auto route = resolve(one.what, limits_.route);
  return barriers_.paused.holds(one.what, state_.destination_of(one.what, route.get()));
}

// Events whose pause has ended count as due. This is not recorded, so the next leader finds these events
// again. Events that are still paused do not change.
void intake::take(const resume_request&, tried<resumed_answer>& got) {
  if (got.wants_keys_only()) read_by_keys();
  if (!scanner_.on_resumed(got, state_.now())) return;
  for (stored_event& one : got.answer.rows)
    if (!is_still_paused(one)) admit_due(std::move(one));
}

void intake::take(const walk_request&, tried<walk_answer>& got) {
  reader_.on_walked(got, state_.now());
}

void intake::take(const check_request&, tried<walk_answer>& got) {
  if (const auto missed = scanner_.on_checked(got, watermark())) reader_.read_again(*missed);
}

void intake::take(const due_request& asked, tried<due_answer>& got) {
  reader_.on_due(asked, got, state_.now());
  if (got.wants_keys_only()) read_by_keys();
  for (stored_event& one : got.answer.rows) admit_due(std::move(one));
}

void intake::take(const dead_request&, tried<dead_answer>& got) {
  scanner_.on_dead_page(got, state_.now());
}

void intake::take(const held_request& asked, tried<held_answer>& got) {
  scanner_.on_held(got, asked.after, state_.runs(), state_.now());
}

void intake::on_recorded(slot which, const failure_record& how) {
  const aggregate of = events_.aggregate_of(which);
  const bool is_over = how.code == paused_code && !state_.is_paused(which);
  // A look-up for this destination could not find the event before its record was written.
  if (how.waits_for && state_.runs())
    lanes_.destinations().on_recorded(*how.waits_for, state_.client, state_.now());
  events_.erase(which);
  if (how.to != exception::scheduled) barriers_.held.on_recorded(of);
  if (is_over) scanner_.resume();
  if (how.to != exception::parked && how.delay) reader_.due_within(*how.delay, state_.now());
}

}  // namespace outboxd::flow

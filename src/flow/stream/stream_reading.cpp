// The part of stream.hpp between the table and the lanes: read events take their places.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "flow/stream/stream.hpp"

namespace outboxd::flow {
namespace {

using namespace std::chrono_literals;

// After a row could not be read, rows come without their texts for so long, and those are measured before
// they are made: time to find out which one it is.
constexpr auto by_keys_for = 10s;

// How long the pauses between reads of an event grow while the disk cannot be read: half a minute in all.
constexpr auto disk_retries_for = 32s;

// For this long after a new event, others are expected.
constexpr auto new_ones_follow_for = 1s;

// A sequence may span all of bigint. Beyond a million, the exact number does not matter.
std::size_t seqs_between(std::int64_t low, std::int64_t high) {
  constexpr std::uint64_t enough = 1'000'000;
  return std::min(static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low), enough);
}

}  // namespace

void stream::read_by_keys() {
  agenda_.keys_only_until = lanes_.now() + by_keys_for;
}

stream::news stream::take(const read_request& asked, tried<read_answer>& got) {
  const auto how = reader_.on_read(asked, got, lanes_.now());
  laggards_.on_passed(reader_.passed());
  if (got.wants_keys_only()) read_by_keys();
  news out{.read = how != reader::outcome::failed, .complete = how == reader::outcome::complete};
  if (got.result != read_result::done) return out;
  if (got.answer.top) out.passed = seqs_between(asked.from.seq, *got.answer.top);
  out.queue_usage = got.answer.queue_usage;
  if (got.answer.server_time) on_server_time(agenda_.asked_at, *got.answer.server_time);
  if (asked.with_summary && (got.answer.holds || barriers_.held.size() > 0)) scanner_.scan_held();
  if (got.answer.late > asked.events) return out;
  for (stored_event& one : got.answer.rows) {
    // The rest of (c) may find an earlier event.
    if (!got.answer.saw_all && one.what.seq > asked.from.seq) break;
    if (admit(std::move(one))) ++out.found;
  }
  out.found += std::exchange(agenda_.found_of_laggards, 0);
  if (out.found > 0) agenda_.new_ones_until = lanes_.now() + new_ones_follow_for;
  agenda_.behind = !out.complete;
  return out;
}

void stream::take(const left_request&, tried<std::vector<stored_event>>& got) {
  if (got.wants_keys_only()) read_by_keys();
  if (!scanner_.on_left(got, lanes_.now())) return;
  phase_ = phase::running;
  std::ranges::sort(got.answer, {}, [](const stored_event& one) { return one.what.seq; });
  for (stored_event& one : got.answer)
    if (one.from == exception::none) admit(std::move(one));
}

void stream::on_texts(slot which) {
  auto& one = events_.at(which);
  one.seen_at = agenda_.asked_at;
  if (one.it.withheld) return;
  if (!limits_.route.routes.empty()) one.route = resolve(one.it.what, limits_.route);
  tell(step::read, which);
}

// True if the event is new.
bool stream::admit(stored_event one) {
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
  on_texts(*added);
  take_place(*added, due_in, parked);
  return true;
}

void stream::take_place(slot which, std::optional<std::chrono::milliseconds> due_in, bool parked) {
  if (due_in)
    set_aside(which, *due_in);
  else if (parked)
    park(which);
  else
    offer_next(events_.aggregate_of(which));
}

// The first of its aggregate that backs off goes out before all others of it; a scheduled one takes its place
// behind them.
void stream::admit_due(stored_event one) {
  const aggregate of = one.what.aggregate;
  const bool heads = one.from == exception::backing_off;
  const bool parked = one.earlier_waits || (!heads && (barriers_.hold(of) || is_full(of)));
  if (heads && !barriers_.held.holds(of))
    barriers_.held.begin(of, hold::head_waits);  // somebody has requeued it by hand
  const auto added = events_.add(std::move(one));
  if (!added) return;
  on_texts(*added);
  if (parked)
    park(*added);
  else
    offer_next(of);
}

bool stream::travels_alone(slot which) const {
  const auto& one = events_.at(which);
  return one.so_far.suspected >= suspicion::suspect || one.is<stage::letter>();
}

// Why it may not be sent. Dead letters go to their own exchange. An event that was read to probe its
// destination, or because that works again, may now have another destination.
std::optional<destinations::block> stream::find_block(slot which) {
  auto& one = events_.at(which);
  if (one.is<stage::letter>()) return std::nullopt;
  const destination to = destination_of(which);
  auto& known = lanes_.destinations();
  if (one.it.rests && one.it.waits_for != id_of(to) && one.it.waits_for != exchange_id_of(to)) {
    known.on_moved(*one.it.waits_for, lanes_.now());
    one.it.rests = false;
  }
  const auto block = known.find_block(to);
  if (!one.it.rests) return block;
  const destination_id of = *one.it.waits_for;
  if (!known.may_go(of, one.it.what.seq)) return known.block_of(of);
  return block && block->of != of ? block : std::nullopt;
}

// Sends what is next in its chain to a lane: in strict order the first only.
void stream::offer_next(aggregate of) {
  auto* const chain = events_.find_chain(of);
  if (chain == nullptr || phase_ != phase::running || is_paused()) return;
  const bool knows = chain->offered_to != no_slot;
  slot which = knows ? events_.at(chain->offered_to).after : chain->first;
  for (; which != no_slot; which = events_.at(which).after) {
    auto& one = events_.at(which);
    if (one.is<stage::dying>() || one.is<stage::fetching>()) return;
    if (one.is_queued()) {
      auto* const letter = std::get_if<stage::letter>(&one.now);
      if (one.it.withheld && letter == nullptr) {
        one.now = stage::fetching{};
        writes_.fetches.add(which, lanes_.now());
        return;
      }
      // A backing-off event goes before all others. So an event backs off only after the earlier ones are
      // settled.
      const bool is_head = which == chain->first;
      if (one.goes_as_first && !is_head) return;
      if (letter == nullptr && is_paused(which)) return is_head ? hold_back(which) : void();
      if (const auto block = find_block(which)) return is_head ? wait_unsent(which, *block) : void();
      const bool is_first = chain->offered == 0;
      const bool returns = is_first ? one.it.from != exception::none : chain->returns;
      const auto lane =
          lanes_.offer({.whose = this, .which = which, .alone = travels_alone(which), .returning = returns},
                       of, is_first ? -1 : chain->lane);
      if (!lane) return;
      chain->returns = returns;
      if (letter != nullptr)
        letter->offered = true;
      else
        one.now = stage::offered{};
      one.lane = static_cast<std::int16_t>(*lane);
      one.turn = ++turns_;
      chain->lane = *lane;
      ++chain->offered;
    }
    if (limits_.order == order_mode::strict || travels_alone(which)) return;
    chain->offered_to = which;
  }
}

void stream::take(const fetch_request& asked, tried<std::vector<stored_event>>& got) {
  const auto how = got.result == read_result::done       ? write_result::done
                   : got.result == read_result::deferred ? write_result::deferred
                                                         : write_result::refused;
  if (got.result == read_result::too_dear) read_by_keys();
  auto done = writes_.fetches.end(how, {}, lanes_.now());
  if (const auto bad = writes_.fetches.stuck()) {
    // A slow server is not the event's fault.
    if (got.result == read_result::too_dear ||
        (got.may_pass && writes_.fetches.stuck_for() < disk_retries_for))
      return say_stuck(writes_.fetches, "cannot be read by PostgreSQL at the moment", got.reason);
    writes_.fetches.drop_stuck();
    if (asked.measured && !got.may_pass && !std::exchange(events_.at(*bad).immeasurable, true))
      return writes_.fetches.add(*bad, lanes_.now());  // it may be read all the same
    return die_unread(*bad, got.reason);
  }
  std::vector<slot> put_off;
  for (stored_event& one : got.answer) {
    const slot which = events_.find(one.what.key());
    if (which == no_slot || !events_.at(which).is<stage::fetching>()) continue;
    if (one.put_off) {
      if (one.from == exception::backing_off) put_off.push_back(which);
      continue;
    }
    if (one.withheld && one.what.aggregate == events_.aggregate_of(which)) {
      if (std::erase(done, which) > 0) on_still_withheld(which, one.size);
      continue;
    }
    if (!events_.complete(which, std::move(one))) continue;
    on_texts(which);
    std::erase(done, which);
    on_fetched(which);
  }
  for (const slot which : done)  // not there any more, another one by now, or finished or put off by hand
    on_not_there(which, std::find(put_off.begin(), put_off.end(), which) != put_off.end());
}

// Its texts have come, or its row has been looked at.
void stream::on_fetched(slot which) {
  const aggregate of = events_.aggregate_of(which);
  auto& stage = events_.at(which).now;
  const bool waits = std::get<stage::fetching>(stage).waits_then && barriers_.held.holds(of);
  stage = stage::queued{};
  if (waits) park_behind(which);
  offer_next(of);
}

// put_off: it backs off for longer, and its aggregate waits for it still.
void stream::on_not_there(slot which, bool put_off) {
  const aggregate of = events_.aggregate_of(which);
  drop_probe(which);
  leave_chain(which);
  events_.erase(which);
  if (put_off) {
    barriers_.held.begin(of, hold::head_waits);
    park_rest(of);
  } else if (events_.length_of(of) == 0) {
    barriers_.held.on_head_settled(of);
  }
  offer_next(of);
}

// Other events came first, or no broker would take it.
void stream::on_still_withheld(slot which, std::int64_t size) {
  events_.at(which).it.size = size;
  if (size <= largest_message) return writes_.fetches.add(which, lanes_.now());
  die_unread(which,
             fmt::format("its texts have {} bytes, and RabbitMQ accepts {} at most", size, largest_message));
}

void stream::die_unread(slot which, std::string reason) {
  events_.at(which).now = stage::queued{};
  die(which, failure::unreadable, std::move(reason));
}

// Per aggregate: events parked above that seq may not go before it. Events that will back off go before all.
boost::unordered_flat_map<aggregate, std::int64_t> stream::lowest_to_record() const {
  boost::unordered_flat_map<aggregate, std::int64_t> out;
  if (writes_.records.idle() && writes_.records.refused().empty()) return out;
  events_.for_each([&](slot, const unsettled::entry& one) {
    const auto* const leaving = std::get_if<stage::leaving>(&one.now);
    if (leaving == nullptr || leaving->how->to == exception::scheduled) return;
    const auto seq = leaving->how->to == exception::backing_off ? position::before_all : one.it.what.seq;
    const auto [at, is_first] = out.try_emplace(one.it.what.aggregate, seq);
    at->second = std::min(at->second, seq);
  });
  return out;
}

void stream::take(const release_request& asked, tried<release_answer>& got) {
  if (got.wants_keys_only()) read_by_keys();
  if (got.result != read_result::done) return;  // the next sweep asks again
  auto& it = got.answer;
  std::vector<aggregate> more = std::move(it.more);
  std::vector<aggregate> taken;
  const auto to_record = lowest_to_record();
  for (stored_event& one : it.rows) {
    const aggregate of = one.what.aggregate;
    const auto before = to_record.find(of);
    // Parked events that the reading has not passed since the lead was taken may have pending ones before
    // them.
    if (one.what.seq > reader_.read_to() || laggards_.passes_over(of, one.what.seq) ||
        (before != to_record.end() && one.what.seq > before->second)) {
      more.push_back(of);
      continue;
    }
    const auto added = events_.add(std::move(one));
    if (!added) continue;
    on_texts(*added);
    if (taken.empty() || taken.back() != of) taken.push_back(of);
  }
  for (const aggregate of : asked.of) {
    if (std::find(it.backs_off.begin(), it.backs_off.end(), of) != it.backs_off.end())
      barriers_.held.on_head_waits(of);
    else if (std::find(more.begin(), more.end(), of) == more.end())
      barriers_.held.on_all_released(of);
  }
  for (const aggregate of : taken) offer_next(of);
}

void stream::take(const waits_request&, tried<waits_answer>& got) {
  if (!scanner_.on_waits(got, lanes_.now())) return;
  for (const destination_id one : got.answer.found)
    lanes_.destinations().on_found(one, client_, lanes_.now());
}

// The broker closes a channel over a message for a missing exchange, so such a message travels alone.
void stream::take(const waiting_request& asked, tried<waiting_answer>& got) {
  if (got.wants_keys_only()) read_by_keys();
  waiting_.on_answer(asked, got, lanes_.now());
  if (got.result != read_result::done) return;
  for (stored_event& one : got.answer.rows) {
    const auto found = std::ranges::find(asked.of, one.waits_for, &waiting_request::look_up::of);
    if (found == asked.of.end()) continue;
    one.rests = true;
    one.suspect = one.suspect || (!found->all && is_exchange(found->of));
    admit_due(std::move(one));
  }
}

// Unsent messages come back from the lanes, because a lane may be blocked for long.
void stream::take(const pauses_request&, tried<pauses_answer>& got) {
  if (!scanner_.on_pauses(got, phase_ == phase::running, lanes_.now())) return;
  const auto changed = barriers_.paused.set(std::move(got.answer.in_force));
  if (!changed.more && !changed.fewer) return;
  tell_(notice::paused{barriers_.paused.in_force()});
  if (changed.more) lanes_.withdraw(*this);
  if (changed.fewer) scanner_.resume();
  on_lanes_changed();
}

// By type or by destination.
bool stream::is_paused(slot which) const {
  return barriers_.paused.holds(events_.at(which).it.what, destination_of(which));
}

// The store looks at the types alone. An event without its texts has no destination yet, and is judged when
// they have come.
bool stream::is_still_paused(const stored_event& one) const {
  if (one.withheld || !barriers_.paused.by_destination()) return false;
  const auto route = resolve(one.what, limits_.route);
  return barriers_.paused.holds(one.what, destination_of(one.what, route.get()));
}

// They count as due. Nothing is written about that: the next leader finds them again. Events that are still
// paused stay as they are.
void stream::take(const resume_request&, tried<resumed_answer>& got) {
  if (got.wants_keys_only()) read_by_keys();
  if (!scanner_.on_resumed(got, lanes_.now())) return;
  for (stored_event& one : got.answer.rows)
    if (!is_still_paused(one)) admit_due(std::move(one));
}

}  // namespace outboxd::flow

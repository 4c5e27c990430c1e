#include "flow/stream.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace outboxd::flow {
namespace {

using namespace std::chrono_literals;

// Look-ups in one round trip, and how many parked events each may bring.
constexpr std::size_t most_lookups = 100;
constexpr int released_at_once = 200;

// After a row could not be read, rows come without their texts for so long: time to find out which one it is.
constexpr auto by_keys_for = 10s;

// Of events that PostgreSQL will not mark: more are simply read again by the next leader.
constexpr std::size_t most_saved_unsettled = 100;

}  // namespace

stream::stream(lanes& over, stream_limits limits, stream_hooks hooks)
    : lanes_(over),
      limits_(std::move(limits)),
      hooks_(std::move(hooks)),
      reader_(limits_.read),
      held_(limits_.most_held),
      writes_{write_queue(limits_.marks), write_queue({}), write_queue({})},
      chance_(limits_.seed) {}

void stream::start(saved_position from, payload_type payload) {
  phase_ = phase::loading;
  payload_ = payload;
  agenda_ = {};
  agenda_.blocked_after = std::numeric_limits<aggregate>::min();
  agenda_.by_id = std::move(from.unsettled);
  agenda_.saved = from.at;
  reader_.start(std::move(from.at), lanes_.now());
  lanes_.join(*this);
}

void stream::drain() {
  phase_ = phase::draining;
  agenda_.save = true;
  lanes_.withdraw(*this);
  forget_unsent();
}

void stream::abandon() {
  lanes_.leave(*this);
  std::vector<slot> in_flight;
  events_.for_each([&](slot which, const unsettled::entry& one) {
    if (one.state == event_state::offered) in_flight.push_back(which);
  });
  for (const slot which : in_flight) {
    on_lane_lost(which);
    failed_.erase(which);
  }
  forget_unsent();
}

// They stay as they are in the table: pending or waiting.
void stream::forget_unsent() {
  std::vector<slot> unsent;
  events_.for_each([&](slot which, const unsettled::entry& one) {
    if (one.state == event_state::queued || one.state == event_state::fetching) unsent.push_back(which);
  });
  for (const slot which : unsent) {
    events_.leave_chain(which);
    failed_.erase(which);
    events_.erase(which);
  }
  writes_.fetches.clear();
}

// But for what PostgreSQL will not write.
bool stream::all_settled() const {
  return !agenda_.asked && writes_.idle() &&
         events_.size() == writes_.marks.refused().size() + writes_.records.refused().size();
}

bool stream::drained() const {
  return phase_ == phase::draining && !agenda_.save && all_settled();
}

void stream::lost() {
  lanes_.leave(*this);
  phase_ = phase::idle;
  events_.clear();
  held_.clear();
  writes_.marks.clear();
  writes_.records.clear();
  writes_.fetches.clear();
  failed_.clear();
  agenda_ = {};
}

void stream::sweep() {
  if (phase_ != phase::running) return;
  agenda_.save = true;
  agenda_.blocked_after = agenda_.next_page;
  reader_.ring();
  reader_.ring_due(lanes_.now());
}

// What is read and not settled is bounded, by number and by bytes; without a broker nothing is read.
int stream::room() const {
  if (phase_ != phase::running || !lanes_.any_up()) return 0;
  if (events_.bytes() >= limits_.batch_bytes * limits_.batches) return 0;
  return std::max(0, limits_.read.batch * limits_.batches - static_cast<int>(events_.size()));
}

std::optional<store_request> stream::next() {
  if (phase_ == phase::idle || agenda_.asked) return std::nullopt;
  store_request out;
  if (phase_ != phase::draining) out.blocked_after = agenda_.blocked_after;
  ask_to_read(out);
  if (agenda_.save && (phase_ != phase::draining || all_settled())) {
    agenda_.save = false;
    ask_to_save(out);
  }
  store_request light = out;
  ask_to_write(out);
  if (out.failures.empty() && out.marks.ids.empty() && !out.save && !out.read && !out.walk_from && !out.due &&
      out.fetch.empty() && out.by_id.empty() && out.release.empty() && !out.blocked_after)
    return std::nullopt;
  agenda_.asked = std::move(light);
  return out;
}

void stream::ask_to_write(store_request& to) {
  const auto now = lanes_.now();
  const bool all = phase_ == phase::draining;
  if (const auto* group = writes_.records.begin(now, all))
    for (const slot which : group->slots) to.failures.push_back(failed_[which].how);
  if (const auto* group = writes_.marks.begin(now, all)) {
    to.marks.mode = group->mode;
    for (const slot which : group->slots) {
      to.marks.ids.push_back(events_.at(which).it.what.id);
      if (group->mode == mark_mode::by_place) to.marks.places.push_back(events_.at(which).it.what.place);
    }
  }
}

void stream::ask_to_read(store_request& to) {
  if (phase_ != phase::running) return;
  to.keys_only = lanes_.now() < agenda_.keys_only_until;
  reader_.add_to(to, room(), lanes_.now());
  ask_to_fetch(to);
  to.by_id = std::exchange(agenda_.by_id, {});
  if (room() == 0) return;
  to.release_events = released_at_once;
  to.release = held_.take(most_lookups, [this](aggregate one) { return events_.length_of(one) > 0; });
}

// Together not much more than a batch, but one at least; and only while there is memory for it.
void stream::ask_to_fetch(store_request& to) {
  if (events_.bytes() >= limits_.batch_bytes * limits_.batches) return;
  std::size_t fitting = 0;
  std::int64_t bytes = 0;
  for (const slot which : writes_.fetches.fresh()) {
    bytes += events_.at(which).it.size;
    if (fitting > 0 && bytes > limits_.batch_bytes) break;
    ++fitting;
  }
  if (const auto* group = writes_.fetches.begin_fitting(lanes_.now(), fitting))
    for (const slot which : group->slots) to.fetch.push_back(events_.at(which).it.what.id);
}

// Those that PostgreSQL refuses to mark do not hold it down, but are named beside it.
void stream::ask_to_save(store_request& to) const {
  position now = reader_.at();
  auto refused = writes_.marks.refused();
  const auto failing = writes_.records.refused();
  refused.insert(refused.end(), failing.begin(), failing.end());
  if (refused.size() > most_saved_unsettled) refused.resize(most_saved_unsettled);
  events_.for_each([&](slot which, const unsettled::entry& one) {
    if (one.it.from != exception::none || std::find(refused.begin(), refused.end(), which) != refused.end()) return;
    now.seq = std::min(now.seq, one.it.what.seq - 1);
  });
  if (agenda_.saved == now) return;
  for (const slot which : refused) to.save_unsettled.push_back(events_.at(which).it.what.id);
  to.save = std::move(now);
}

clock::time_point stream::next_at() const {
  constexpr auto never = clock::time_point::max();
  constexpr auto at_once = clock::time_point::min();
  if (phase_ == phase::idle || agenda_.asked) return never;
  if (phase_ == phase::loading) return at_once;
  const auto to_write = std::min(writes_.marks.due().value_or(never), writes_.records.due().value_or(never));
  if (phase_ == phase::draining) return agenda_.save && all_settled() ? at_once : to_write;
  const int free = room();
  if (agenda_.save || agenda_.blocked_after || !agenda_.by_id.empty() || (free > 0 && held_.asks())) return at_once;
  return std::min({to_write, reader_.next(free), writes_.fetches.due().value_or(never)});
}

stream::news stream::on_answer(store_answer answer) {
  const store_request asked = *std::exchange(agenda_.asked, std::nullopt);
  if (writes_.records.under_way()) on_recorded(answer.failures);
  if (writes_.marks.under_way()) on_marked(answer.marks);
  if (asked.save && answer.saved) agenda_.saved = asked.save;
  news out;
  if (phase_ == phase::draining) return out;
  if (!asked.fetch.empty()) on_fetched(answer.fetched, asked);
  if (asked.walk_from) reader_.on_walked(answer.walk, lanes_.now());
  if (asked.read) out = on_read(answer.read, asked);
  if (asked.due) {
    reader_.on_due(asked, answer.due, lanes_.now());
    if (answer.due.result == read_result::refused) agenda_.keys_only_until = lanes_.now() + by_keys_for;
    for (stored_event& one : answer.due.answer.rows) admit_due(std::move(one));
  }
  for (stored_event& one : answer.by_id.answer)
    if (one.from == exception::none) admit(std::move(one));
  if (!asked.release.empty()) on_released(answer.released, asked);
  if (asked.blocked_after) on_blocked(answer.blocked, asked);
  lanes_.pump();
  return out;
}

stream::news stream::on_read(tried<read_answer>& got, const store_request& asked) {
  const auto how = reader_.on_read(asked, got, lanes_.now());
  if (got.result == read_result::refused) agenda_.keys_only_until = lanes_.now() + by_keys_for;
  news out{.read = how != reader::outcome::failed, .complete = how == reader::outcome::complete};
  if (got.result != read_result::done || got.answer.late > asked.read->events) return out;
  for (stored_event& one : got.answer.rows)
    if (admit(std::move(one))) ++out.found;
  return out;
}

// True if it is news.
bool stream::admit(stored_event one) {
  const aggregate of = one.what.aggregate;
  const bool parked = held_.holds(of) || events_.length_of(of) >= limits_.longest_chain;
  const auto added = events_.add(std::move(one));
  if (!added) return false;
  if (parked)
    park(*added);
  else
    offer_next(of);
  return true;
}

// The first of its aggregate that backs off goes out before all others of it; a scheduled one takes its place behind them.
void stream::admit_due(stored_event one) {
  const aggregate of = one.what.aggregate;
  const bool heads = one.from == exception::backing_off;
  const bool parked = one.earlier_waits || (!heads && held_.holds(of));
  if (heads && !held_.holds(of)) held_.begin(of, hold::head_waits);  // somebody has set it back by hand
  const auto added = events_.add(std::move(one));
  if (!added) return;
  if (parked)
    park(*added);
  else
    offer_next(of);
}

// Sends what is next in its chain to a lane: in strict order the first alone.
void stream::offer_next(aggregate of) {
  auto* const chain = events_.find_chain(of);
  if (chain == nullptr || phase_ != phase::running) return;
  for (slot which = chain->first; which != no_slot; which = events_.at(which).after) {
    auto& one = events_.at(which);
    if (one.state == event_state::dying || one.state == event_state::fetching) return;
    if (one.state == event_state::queued) {
      if (one.it.withheld && !failed_.contains(which)) {
        one.state = event_state::fetching;
        writes_.fetches.add(which, lanes_.now());
        return;
      }
      const bool alone = one.it.suspect || failed_.contains(which);
      const auto lane = lanes_.offer(*this, which, of, alone, chain->offered > 0 ? chain->lane : -1);
      if (!lane) return;
      one.state = event_state::offered;
      chain->lane = *lane;
      ++chain->offered;
    }
    if (limits_.order == order_mode::strict) return;
  }
}

void stream::on_fetched(tried<std::vector<stored_event>>& got, const store_request& asked) {
  const auto wanted = slots_of(asked.fetch);
  const auto how = got.result == read_result::done       ? write_result::done
                   : got.result == read_result::deferred ? write_result::deferred
                                                         : write_result::refused;
  auto done = writes_.fetches.end(how, {}, lanes_.now());
  if (const auto bad = writes_.fetches.stuck()) {
    writes_.fetches.drop_stuck();
    auto& one = events_.at(*bad);
    one.state = event_state::queued;
    return die(*bad, failure::unreadable, got.reason);
  }
  for (stored_event& one : got.answer) {
    const slot which = events_.find(one.what.id);
    if (which == no_slot) continue;
    events_.complete(which, std::move(one));
    events_.at(which).state = event_state::queued;
    std::erase(done, which);
    offer_next(events_.aggregate_of(which));
  }
  for (const slot which : done) {  // not there any more, or finished by hand
    const aggregate of = events_.aggregate_of(which);
    leave_chain(which);
    events_.erase(which);
    offer_next(of);
  }
}

void stream::on_released(tried<release_answer>& got, const store_request& asked) {
  if (got.result == read_result::refused) agenda_.keys_only_until = lanes_.now() + by_keys_for;
  if (got.result != read_result::done) return;  // the next sweep asks again
  auto& it = got.answer;
  std::vector<aggregate> more = std::move(it.more);
  std::vector<aggregate> taken;
  for (stored_event& one : it.rows) {
    const aggregate of = one.what.aggregate;
    // What the reading has not passed since the lead was taken may have pending ones before it.
    if (one.what.seq > reader_.at().seq) {
      more.push_back(of);
      continue;
    }
    if (events_.add(std::move(one)) && (taken.empty() || taken.back() != of)) taken.push_back(of);
  }
  for (const aggregate of : asked.release) {
    if (std::find(it.backs_off.begin(), it.backs_off.end(), of) != it.backs_off.end())
      held_.on_head_waits(of);
    else if (std::find(more.begin(), more.end(), of) == more.end())
      held_.on_all_released(of);
  }
  for (const aggregate of : taken) offer_next(of);
}

void stream::on_blocked(const tried<std::vector<blocked_aggregate>>& got, const store_request& asked) {
  if (got.result != read_result::done) return;
  const bool last = got.answer.size() < blocked_page;
  const aggregate upto = last ? std::numeric_limits<aggregate>::max() : got.answer.back().which;
  held_.on_page(got.answer, *asked.blocked_after, upto);
  agenda_.blocked_after.reset();
  if (phase_ == phase::loading) {
    if (!last) agenda_.blocked_after = upto;
    if (last) phase_ = phase::running;
  } else if (!last) {
    agenda_.next_page = upto;
  } else {
    agenda_.next_page = std::numeric_limits<aggregate>::min();
  }
}

std::vector<slot> stream::slots_of(const std::vector<event_id>& ids) const {
  std::vector<slot> out;
  out.reserve(ids.size());
  for (const event_id& id : ids)
    if (const slot which = events_.find(id); which != no_slot) out.push_back(which);
  return out;
}

void stream::on_lane_lost(slot which) {
  auto& one = events_.at(which);
  if (one.state != event_state::offered) return;
  one.state = event_state::queued;
  --events_.find_chain(one.it.what.aggregate)->offered;
}

void stream::on_lanes_changed() {
  for (const aggregate of : events_.aggregates()) offer_next(of);
  if (phase_ == phase::running) reader_.ring();
}

void stream::on_progress() {
  if (hooks_.on_progress) hooks_.on_progress();
}

}  // namespace outboxd::flow

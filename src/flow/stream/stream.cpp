#include "flow/stream/stream.hpp"

#include <algorithm>
#include <utility>

namespace outboxd::flow {

stream::stream(lanes& over, stream_limits limits, observer tell, step_observer* steps)
    : lanes_(over),
      limits_(std::move(limits)),
      tell_(std::move(tell)),
      steps_(steps),
      barriers_(limits_.most_held),
      reader_(limits_.read),
      laggards_(limits_.most_overtaking),
      scanner_(barriers_, limits_.after_dead == after_dead::hold),
      writes_{.marks = write_queue(limits_.marks),
              .records = write_queue({}),
              .fetches = write_queue({}),
              .looks = write_queue({})},
      chance_(limits_.seed) {}

void stream::start(saved_position from, payload_type payload) {
  phase_ = phase::loading;
  agenda_ = {};
  agenda_.loads_since = lanes_.now();
  if (std::exchange(lost_over_texts_, false)) read_by_keys();
  agenda_.payload = payload;
  agenda_.saved = from.at;
  scanner_.start(std::move(from.unsettled), lanes_.now());
  reader_.start(std::move(from.at), lanes_.now());
  lanes_.join(*this);
}

void stream::drain() {
  phase_ = phase::draining;
  agenda_.save = true;
  lanes_.withdraw(*this);
  forget_unsent();
}

void stream::go_on() {
  forget_unsent();
  phase_ = phase::loading;
  agenda_.loads_since = lanes_.now();
  scanner_.start_again(lanes_.now());
  reader_.start(reader_.at(), lanes_.now());
}

void stream::abandon() {
  if (phase_ != phase::idle) phase_ = phase::draining;  // a round trip may be under way since before the stop
  lanes_.leave(*this);
  std::vector<slot> in_flight;
  events_.for_each([&](slot which, const unsettled::entry& one) {
    if (one.is_offered()) in_flight.push_back(which);
  });
  for (const slot which : in_flight) on_unsent(which);
  forget_unsent();
}

template <class Which>
std::vector<event_key> stream::keys_of(Which which) const {
  std::vector<event_key> out;
  events_.for_each([&](slot, const unsettled::entry& one) {
    if (which(one)) out.push_back(one.it.what.key());
  });
  return out;
}

std::vector<event_key> stream::in_flight() const {
  return keys_of([](const unsettled::entry& one) { return one.is_offered(); });
}

std::vector<event_key> stream::unmarked() const {
  return keys_of([](const unsettled::entry& one) { return one.is<stage::confirmed>(); });
}

std::vector<event_key> stream::unwritten() const {
  return keys_of([](const unsettled::entry& one) {
    return one.is<stage::confirmed>() || one.is<stage::dying>() || one.is<stage::leaving>();
  });
}

// They stay as they are in the table: pending or waiting.
void stream::forget_unsent() {
  std::vector<slot> unsent;
  events_.for_each([&](slot which, const unsettled::entry& one) {
    if (one.is_unsent()) unsent.push_back(which);
  });
  for (const slot which : unsent) {
    const stored_event& one = events_.at(which).it;
    if (one.from == exception::none) reader_.forget(one.what.seq);
    events_.leave_chain(which);
    events_.erase(which);
  }
  writes_.fetches.clear();
  if (const auto lowest = laggards_.lowest()) reader_.forget(*lowest);
  laggards_.clear();
  writes_.looks.clear();
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
  // Perhaps it was a text for which the server had no memory.
  if (agenda_.asked && agenda_.asked->makes_texts()) lost_over_texts_ = true;
  lanes_.leave(*this);
  phase_ = phase::idle;
  events_.clear();
  barriers_.clear();
  writes_.marks.clear();
  writes_.records.clear();
  writes_.fetches.clear();
  writes_.looks.clear();
  laggards_.clear();
  agenda_ = {};
}

// A dead event that was retried is due; one that was discarded is gone.
void stream::ring_due() {
  reader_.ring_due(lanes_.now());
  scanner_.ring_dead(lanes_.now());
}

void stream::sweep() {
  if (phase_ != phase::running) return;
  agenda_.save = agenda_.summary_wanted = true;
  scanner_.sweep(watermark(), lanes_.now());
  reader_.ring();
}

clock::time_point stream::next_at() const {
  constexpr auto never = clock::time_point::max();
  constexpr auto at_once = clock::time_point::min();
  if (phase_ == phase::idle || agenda_.asked) return never;
  if (phase_ == phase::loading) return scanner_.next_to_load();
  if (owes_proof()) return at_once;
  const auto to_write = std::min(writes_.marks.due().value_or(never), writes_.records.due().value_or(never));
  if (phase_ == phase::draining) return all_settled() ? at_once : to_write;
  const int free = room();
  const int returning = room_for_returning();
  if (agenda_.save || (may_release() && barriers_.held.asks())) return at_once;
  const auto to_fetch = may_fetch() ? writes_.fetches.due().value_or(never) : never;
  const auto to_laggards = free > 0 && !hungry().empty() ? at_once : never;
  const auto to_look = writes_.looks.due().value_or(never);
  return std::min({to_write, to_fetch, to_laggards, to_look, reader_.next({.fresh = free, .due = returning}),
                   scanner_.next(returning)});
}

stream::news stream::on_answer(store_answer answer) {
  // Of an answer it is only known that it was given after the question: a process that was stopped meanwhile
  // may find it in its socket, and the lead gone.
  agenda_.sure_until = agenda_.asked_at + limits_.lead_lasts;
  const store_request asked = *std::exchange(agenda_.asked, std::nullopt);
  if (writes_.records.under_way()) on_recorded(answer.failures);
  if (writes_.marks.under_way()) on_marked(answer.marks);
  if (asked.save && answer.saved) agenda_.saved = asked.save;
  news out;
  if (phase_ == phase::draining) {
    lanes_.pump();
    return out;
  }
  if (!asked.looks.empty()) on_looked(answer.looked, asked.looks);
  if (!asked.fetch.empty()) on_fetched(answer.fetched, asked.fetch_is_measured);
  if (asked.walk_from) reader_.on_walked(answer.walk, lanes_.now());
  if (asked.read) out = on_read(answer.read, asked);
  if (asked.check_from)
    if (const auto missed = scanner_.on_checked(answer.checked, watermark())) reader_.read_again(*missed);
  if (asked.due) {
    reader_.on_due(asked, answer.due, lanes_.now());
    if (answer.due.wants_keys_only()) read_by_keys();
    for (stored_event& one : answer.due.answer.rows) admit_due(std::move(one));
  }
  if (asked.laggards) on_laggards(answer.laggards);
  if (!asked.left.empty()) on_left(answer.left);
  if (!asked.release.empty()) on_released(answer.released, asked);
  if (asked.pauses) on_pauses(answer.pauses);
  if (asked.dead_after) scanner_.on_dead_page(answer.dead, lanes_.now());
  if (asked.blocked_after)
    scanner_.on_blocked(answer.blocked, *asked.blocked_after, phase_ == phase::running, lanes_.now());
  if (asked.recall_after) on_recalled(answer.recalled);
  if (asked.resume) on_resumed(answer.resumed);
  if (phase_ == phase::loading && scanner_.knows_barriers(lanes_.now()) && !scanner_.has_left())
    phase_ = phase::running;
  lanes_.pump();
  return out;
}

std::vector<slot> stream::slots_of(const std::vector<event_key>& keys) const {
  std::vector<slot> out;
  out.reserve(keys.size());
  for (const event_key& key : keys)
    if (const slot which = events_.find(key); which != no_slot) out.push_back(which);
  return out;
}

void stream::on_unsent(slot which) {
  auto& one = events_.at(which);
  if (!one.is_offered()) return;
  if (auto* const dead = std::get_if<stage::letter>(&one.now))
    dead->offered = false;
  else
    one.now = stage::queued{};
  auto* const chain = events_.find_chain(one.it.what.aggregate);
  if (chain == nullptr) return;
  --chain->offered;
  chain->offered_to = no_slot;
}

void stream::on_lanes_changed() {
  if (phase_ != phase::running) return forget_unsent();
  for (const aggregate of : events_.aggregates()) offer_next(of);
  reader_.ring();
}

void stream::on_progress() {
  tell_(notice::progress{});
}

}  // namespace outboxd::flow

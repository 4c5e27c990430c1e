#include "flow/stream/stream.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

namespace outboxd::flow {
namespace {

// Answers to questions from before the lead is given up are ignored, except for what they wrote.
template <class Question>
constexpr bool is_write = std::is_same_v<Question, record_request> ||
                          std::is_same_v<Question, mark_request> || std::is_same_v<Question, save_request>;

}  // namespace

stream::stream(lanes& over, stream_limits limits, observer tell, step_observer* steps)
    : lanes_(over),
      limits_(std::move(limits)),
      tell_(std::move(tell)),
      steps_(steps),
      barriers_(limits_.most_held),
      reader_(limits_.read),
      laggards_(limits_.most_overtaking),
      scanner_(barriers_, limits_.after_dead == after_dead::hold),
      waiting_(over.destinations()),
      writes_{.marks = write_queue(limits_.marks),
              .records = write_queue({}),
              .fetches = write_queue({}),
              .looks = write_queue({})},
      chance_(limits_.seed) {
  scanner_.give_up_after(limits_.give_up_after);
}

void stream::start(saved_position from, payload_type payload) {
  phase_ = phase::loading;
  agenda_ = {};
  agenda_.loads_since = lanes_.now();
  if (std::exchange(lost_over_texts_, false)) read_by_keys();
  agenda_.payload = payload;
  agenda_.saved = from.at;
  scanner_.start(std::move(from.unsettled), lanes_.now());
  reader_.start(std::move(from.at), lanes_.now());
  client_ = lanes_.join(*this);
  waiting_.start(client_);
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
  waiting_.start(client_);
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

// They stay in the table as they are: pending or waiting.
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

// Except rows that PostgreSQL refuses to write.
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
  agenda_.save = true;
  reader_.want_summary();
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
  const auto rested = agenda_.returning_rest_until > lanes_.now() ? agenda_.returning_rest_until : never;
  const auto to_look = writes_.looks.due().value_or(never);
  return std::min({to_write, to_fetch, to_laggards, to_look, rested,
                   reader_.next({.fresh = free, .due = returning}), scanner_.next(returning),
                   waiting_.next(returning, lanes_.now())});
}

stream::news stream::on_answer(store_answer answer) {
  // The time of an answer is only known to be after the question: a process that was stopped may find an old
  // answer in its socket after it has lost the lead.
  agenda_.sure_until = agenda_.asked_at + limits_.lead_lasts;
  const auto asked = std::exchange(agenda_.asked, nullptr);
  news out;
  for (std::size_t i = 0; i < asked->questions.size(); ++i)
    std::visit(
        [&](const auto& question) {
          using kind = std::decay_t<decltype(question)>;
          auto& got = std::get<typename kind::answer>(answer.replies[i]);
          if constexpr (std::is_same_v<kind, read_request>) {
            if (phase_ != phase::draining) out = take(question, got);
          } else if (phase_ != phase::draining || is_write<kind>) {
            take(question, got);
          }
        },
        asked->questions[i]);
  if (asked->asks_one_of<due_request, release_request, waiting_request>()) rest_returning();
  if (phase_ == phase::loading && scanner_.knows_barriers(lanes_.now()) && !scanner_.has_left())
    phase_ = phase::running;
  lanes_.pump();
  return out;
}

void stream::take(const save_request& asked, save_answer& got) {
  if (got.saved) agenda_.saved = asked.at;
}

void stream::take(const walk_request&, tried<walk_answer>& got) {
  reader_.on_walked(got, lanes_.now());
}

void stream::take(const check_request&, tried<walk_answer>& got) {
  if (const auto missed = scanner_.on_checked(got, watermark())) reader_.read_again(*missed);
}

void stream::take(const due_request& asked, tried<due_answer>& got) {
  reader_.on_due(asked, got, lanes_.now());
  if (got.wants_keys_only()) read_by_keys();
  for (stored_event& one : got.answer.rows) admit_due(std::move(one));
}

void stream::take(const dead_request&, tried<dead_answer>& got) {
  scanner_.on_dead_page(got, lanes_.now());
}

void stream::take(const held_request& asked, tried<held_answer>& got) {
  scanner_.on_held(got, asked.after, phase_ == phase::running, lanes_.now());
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

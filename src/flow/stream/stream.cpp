#include "flow/stream/stream.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace outboxd::flow {
namespace {

using namespace std::chrono_literals;

// Look-ups in one round trip, and how many parked events each may bring.
constexpr int most_lookups = 500;
constexpr int released_at_once = 200;

// Transactions: a part of those that the next leader looks through in one read.
constexpr xid worth_saving = 5'000;

// Of events that PostgreSQL will not mark: more are simply read again by the next leader.
constexpr std::size_t most_saved_unsettled = 100;

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

// Up to here nothing that was read as pending is under way.
std::int64_t stream::watermark() const {
  std::int64_t out = reader_.at().seq;
  events_.for_each([&](slot, const unsettled::entry& one) {
    if (one.it.from == exception::none) out = std::min(out, one.it.what.seq - 1);
  });
  return out;
}

bool stream::memory_is_full() const {
  return events_.bytes() >= limits_.batch_bytes * limits_.batches;
}

// What is parked may have pending events before it, until a first read.
bool stream::may_release() const {
  return room_for_returning() > 0 && reader_.read_to() > position::before_all;
}

// Memory that is full of events behind those whose texts are missing would stay full; beside those, what
// PostgreSQL will not write may stay for ever.
bool stream::may_fetch() const {
  if (!memory_is_full()) return true;
  std::size_t moving = 0;
  events_.for_each([&](slot, const unsettled::entry& one) {
    if (!one.is_unsent()) ++moving;
  });
  return moving <= put_off() && lanes_.any_up();
}

// How many events wait until PostgreSQL writes what has become of them.
std::size_t stream::put_off() const {
  return writes_.marks.put_off() + writes_.records.put_off();
}

// What is read and not settled is bounded, by number and by bytes; without a broker nothing is read. Many
// small reads cost more than one. But what PostgreSQL will not write may leave room for small ones only, and
// is not what a rate limit holds back.
int stream::room() const {
  if (phase_ != phase::running || !lanes_.any_up() || is_paused()) return 0;
  if (memory_is_full()) return 0;
  const int batch = lanes_.limit().worth_reading(limits_.read.batch);
  const int in_memory = static_cast<int>(events_.size());
  const int free = batch * limits_.batches - (in_memory - static_cast<int>(put_off()));
  return free < batch ? 0 : std::max(0, std::min(free, limits_.read.batch * limits_.batches - in_memory));
}

// Of a round trip: a new event waits for the one that is under way, so beside new ones those that return take
// little of each.
int stream::portion() const {
  const int batch = lanes_.limit().worth_reading(limits_.read.batch);
  const bool beside_new_ones = events_.returning().events > 0 && lanes_.now() < agenda_.new_ones_until;
  return beside_new_ones ? std::max(1, batch / 16) : batch;
}

std::size_t stream::most_marks() const {
  const int batch = lanes_.limit().worth_reading(limits_.read.batch);
  return portion() < batch ? static_cast<std::size_t>(portion()) : limits_.marks.most;
}

// What has waited in the table has half of the memory at most, so that a replay, or what has come due
// together, never keeps new events from being read.
int stream::room_for_returning() const {
  const auto& back = events_.returning();
  if (back.bytes >= limits_.batch_bytes * limits_.batches / 2) return 0;
  const int batch = lanes_.limit().worth_reading(limits_.read.batch);
  const int piece = std::max(1, std::min(portion(), batch * limits_.batches / 4));
  const int free = batch * limits_.batches / 2 - static_cast<int>(back.events);
  return free < piece ? 0 : std::min({free, piece, room()});
}

// Nothing is sent until an answer proves the lead, and nothing else may be there to ask for: memory may be
// full.
bool stream::owes_proof() const {
  return phase_ != phase::loading && !may_send() && events_.size() > 0;
}

std::optional<store_request> stream::next() {
  if (phase_ == phase::idle || agenda_.asked) return std::nullopt;
  store_request out;
  out.keys_only = lanes_.now() < agenda_.keys_only_until;
  if (phase_ == phase::loading) scanner_.add_to_load(out, lanes_.now());
  // A proof that came with a slow read would be old by its answer.
  if (phase_ == phase::running && !owes_proof()) ask_to_read(out);
  const bool may_save = phase_ != phase::draining || all_settled();
  if (owes_proof()) agenda_.saved.reset();  // any answer will do
  if (owes_proof() || (agenda_.save && may_save)) {
    if (may_save) agenda_.save = false;
    ask_to_save(out);
  }
  store_request light = out;
  ask_to_write(out);
  if (out.failures.empty() && out.marks.keys.empty() && !out.save && !out.read && !out.walk_from &&
      !out.due && !out.laggards && out.looks.empty() && out.fetch.empty() && out.left.empty() &&
      out.release.empty() && !out.blocked_after && !out.recall_after && !out.pauses && !out.resume &&
      !out.dead_after)
    return std::nullopt;
  agenda_.asked = std::move(light);
  agenda_.asked_at = lanes_.now();
  return out;
}

void stream::ask_to_write(store_request& to) {
  const auto now = lanes_.now();
  const bool all = phase_ == phase::draining;
  if (const auto* group = writes_.records.begin(now, all))
    for (const slot which : group->slots) to.failures.push_back(to_record(which));
  if (const auto* group = writes_.marks.begin(now, all, most_marks())) {
    to.marks.mode = group->mode;
    for (const slot which : group->slots) {
      const event& it = events_.at(which).it.what;
      to.marks.keys.push_back(it.key());
      if (group->mode != mark_mode::by_place) {
        to.marks.sent.push_back(
            {it.written_by, it.event_type, it.payload, it.headers, it.exchange, it.routing_key});
        continue;
      }
      const bool first = to.marks.places.empty();
      to.marks.places.push_back(it.place);
      to.marks.lowest = first ? it.seq : std::min(to.marks.lowest, it.seq);
      to.marks.highest = first ? it.seq : std::max(to.marks.highest, it.seq);
    }
  }
}

void stream::ask_to_read(store_request& to) {
  const auto now = lanes_.now();
  reader_.add_to(to, {.fresh = room(), .due = room_for_returning()}, now);
  if (to.read) to.read->with_summary = std::exchange(agenda_.summary_wanted, false);
  ask_to_look(to);
  ask_to_fetch(to);
  scanner_.add_to(to, room_for_returning(), now);
  ask_for_laggards(to);
  if (!may_release()) return;
  to.release = barriers_.held.take(
      static_cast<std::size_t>(std::min(most_lookups, portion())),
      [this](aggregate one) { return events_.length_of(one) > 0 || barriers_.dead.holds(one); });
  if (to.release.empty()) return;
  const int each = std::min(room_for_returning() / static_cast<int>(to.release.size()), released_at_once);
  to.release_events = std::clamp(each, 1, static_cast<int>(longest_chain()));
}

// Together not much more than a batch, but one at least; and only while there is memory for it.
void stream::ask_to_fetch(store_request& to) {
  if (!may_fetch()) return;
  std::size_t fitting = 0;
  std::int64_t bytes = 0;
  for (const slot which : writes_.fetches.fresh()) {
    bytes += events_.at(which).it.size;
    if (fitting > 0 && (memory_is_full() || bytes > limits_.batch_bytes)) break;
    ++fitting;
  }
  const auto* group = writes_.fetches.begin_fitting(lanes_.now(), fitting);
  if (group == nullptr) return;
  for (const slot which : group->slots) to.fetch.push_back(events_.at(which).it.what.key());
  const bool alone = group->slots.size() == 1;
  to.fetch_is_measured =
      (to.keys_only || group->is_single_again()) && !(alone && events_.at(group->slots.front()).immeasurable);
}

// Those that PostgreSQL refuses to mark do not hold it down, but are named beside it.
void stream::ask_to_save(store_request& to) const {
  position now = reader_.at();
  auto refused = writes_.marks.refused();
  const auto failing = writes_.records.refused();
  refused.insert(refused.end(), failing.begin(), failing.end());
  if (refused.size() > most_saved_unsettled) refused.resize(most_saved_unsettled);
  events_.for_each([&](slot which, const unsettled::entry& one) {
    if (one.it.from != exception::none || std::find(refused.begin(), refused.end(), which) != refused.end())
      return;
    now.seq = std::min(now.seq, one.it.what.seq - 1);
  });
  if (const auto lowest = laggards_.lowest()) now.seq = std::min(now.seq, *lowest - 1);
  // To save is a transaction, too: a snapshot that is only a little younger is not worth one.
  if (agenda_.saved && agenda_.saved->seq == now.seq &&
      now.seen.xmax < agenda_.saved->seen.xmax + worth_saving)
    return;
  for (const slot which : refused)
    if (events_.at(which).it.what.seq <= now.seq) to.save_unsettled.push_back(events_.at(which).it.what.seq);
  to.save = std::move(now);
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

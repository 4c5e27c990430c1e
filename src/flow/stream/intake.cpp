// intake: the part of intake.hpp before a round trip: what to request next, and how much memory there is.
#include "flow/stream/intake.hpp"

#include <algorithm>
#include <utility>

namespace outboxd::flow {
namespace {

using namespace std::chrono_literals;

// Maximum look-ups per round trip, and parked events per look-up.
constexpr int most_lookups = 500;
constexpr int released_at_once = 200;

// After a failed read of a row, rows are fetched without texts for this long, and texts are measured before
// they are fetched, so that the row at fault can be identified.
constexpr auto by_keys_for = 10s;

}  // namespace

intake::intake(stream_state& in, const settlement& out, dispatcher& to)
    : state_(in),
      events_(in.events),
      barriers_(in.blocked),
      lanes_(in.pool),
      limits_(in.limits),
      settlement_(out),
      dispatcher_(to),
      fetches_(to.fetches()),
      looks_(to.looks()),
      reader_(in.limits.read),
      laggards_(in.limits.most_overtaking),
      scanner_(in.blocked, in.limits.after_dead == after_dead::hold),
      waiting_(in.pool.destinations()) {
  scanner_.give_up_after(in.limits.give_up_after);
}

void intake::start(position from, std::vector<std::int64_t> left) {
  pace_ = {};
  if (std::exchange(lost_over_texts_, false)) read_by_keys();
  scanner_.start(std::move(left), state_.now());
  reader_.start(std::move(from), state_.now());
  waiting_.start(state_.client);
}

void intake::start_again() {
  scanner_.start_again(state_.now());
  waiting_.start(state_.client);
  reader_.start(reader_.at(), state_.now());
}

void intake::lost(bool over_texts) {
  lost_over_texts_ = lost_over_texts_ || over_texts;
  laggards_.clear();
  pace_ = {};
}

void intake::on_forgotten(std::optional<std::int64_t> lowest) {
  if (lowest) reader_.forget(*lowest);
  if (const auto passed_over = laggards_.lowest()) reader_.forget(*passed_over);
  laggards_.clear();
}

// A dead event that was retried is due now; one that was discarded is deleted.
void intake::ring_due() {
  reader_.ring_due(state_.now());
  scanner_.ring_dead(state_.now());
}

void intake::sweep() {
  reader_.want_summary();
  scanner_.sweep(watermark(), state_.now());
  reader_.ring();
}

std::uint32_t intake::longest_chain() const {
  return std::min(limits_.longest_chain,
                  static_cast<std::uint32_t>(lanes_.limit().worth_reading(limits_.read.batch)));
}

// Returns a seq up to which all events that were read as pending are settled.
std::int64_t intake::watermark() const {
  std::int64_t out = reader_.at().seq;
  events_.for_each([&](slot, const unsettled::entry& one) {
    if (one.it.from == exception::none) out = std::min(out, one.it.what.seq - 1);
  });
  return out;
}

bool intake::memory_is_full() const {
  return events_.bytes() >= limits_.batch_bytes * limits_.batches;
}

// Before the first read is complete, a parked event may have unread pending events before it.
bool intake::may_release() const {
  return room_for_returning() > 0 && reader_.has_read();
}

// Texts are fetched even if memory is full, if it holds only rows that PostgreSQL refuses to write, and
// events behind others without texts. Otherwise memory would stay full.
bool intake::may_fetch() const {
  if (!memory_is_full()) return true;
  std::size_t moving = 0;
  events_.for_each([&](slot, const unsettled::entry& one) {
    if (!one.is_unsent()) ++moving;
  });
  return moving <= settlement_.put_off() && lanes_.any_up();
}

// Unsettled events are limited in number and bytes; without a broker, nothing is read. Reads wait until there
// is room for a whole batch, because many small reads cost more than one large read. Rows that PostgreSQL
// refuses to write may leave room only for small reads, and do not count against a rate limit.
int intake::room() const {
  if (!state_.runs() || !lanes_.any_up() || barriers_.paused.everything()) return 0;
  if (memory_is_full()) return 0;
  const int batch = lanes_.limit().worth_reading(limits_.read.batch);
  const int in_memory = static_cast<int>(events_.size());
  const int free = batch * limits_.batches - (in_memory - static_cast<int>(settlement_.put_off()));
  return free < batch ? 0 : std::max(0, std::min(free, limits_.read.batch * limits_.batches - in_memory));
}

// A new event waits for the end of the current round trip, so while new events arrive, each round trip reads
// only few returning ones.
int intake::portion() const {
  const int batch = lanes_.limit().worth_reading(limits_.read.batch);
  const bool beside_new_ones = new_ones_come() && (events_.returning().events > 0 || !pace_.behind);
  return beside_new_ones ? std::max(1, batch / 16) : batch;
}

std::size_t intake::most_marks() const {
  const bool some_return = events_.returning().events > 0;
  return some_return && new_ones_come() ? static_cast<std::size_t>(portion()) : limits_.marks.most;
}

// Returning events use at most half of the memory, so that a replay, or many events that become due together,
// never prevents new events from being read.
int intake::room_for_returning() const {
  if (state_.now() < pace_.returning_rest_until) return 0;
  const auto& back = events_.returning();
  if (back.bytes >= limits_.batch_bytes * limits_.batches / 2) return 0;
  const int batch = lanes_.limit().worth_reading(limits_.read.batch);
  const int piece = std::max(1, std::min(portion(), batch * limits_.batches / 4));
  const int free = batch * limits_.batches / 2 - static_cast<int>(back.events);
  return free < piece ? 0 : std::min({free, piece, room()});
}

// Pauses after a round trip with returning events, so that they use at most 1/8 of the time while new events
// arrive and are all read. Without the pause, a busy machine would delay all events.
void intake::pause_returning() {
  const auto now = state_.now();
  if (new_ones_come() && !pace_.behind) pace_.returning_rest_until = now + 7 * (now - state_.asked_at);
}

void intake::ask_to_load(store_request& to) {
  to.keys_only = state_.now() < pace_.keys_only_until;
  scanner_.add_to_load(to, state_.now());
}

void intake::ask(store_request& to) {
  to.keys_only = state_.now() < pace_.keys_only_until;
  const auto now = state_.now();
  reader_.add_to(to, {.fresh = room(), .due = room_for_returning()}, now);
  ask_to_look(to);
  ask_to_fetch(to);
  scanner_.add_to(to, room_for_returning(), now);
  waiting_.add_to(to, room_for_returning(), now);
  ask_for_laggards(to);
  ask_to_release(to);
}

clock::time_point intake::next() const {
  constexpr auto never = clock::time_point::max();
  constexpr auto at_once = clock::time_point::min();
  const int free = room();
  const int returning = room_for_returning();
  if (may_release() && barriers_.held.asks()) return at_once;
  const auto to_fetch = may_fetch() ? fetches_.due().value_or(never) : never;
  const auto to_laggards = free > 0 && !hungry().empty() ? at_once : never;
  const auto rested = pace_.returning_rest_until > state_.now() ? pace_.returning_rest_until : never;
  const auto to_look = looks_.due().value_or(never);
  return std::min({to_fetch, to_laggards, to_look, rested, reader_.next({.fresh = free, .due = returning}),
                   scanner_.next(returning), waiting_.next(returning, state_.now())});
}

void intake::ask_to_release(store_request& to) {
  if (!may_release()) return;
  auto of = barriers_.held.take(
      static_cast<std::size_t>(std::min(most_lookups, portion())),
      [this](aggregate one) { return events_.length_of(one) > 0 || barriers_.dead.holds(one); });
  if (of.empty()) return;
  const int each = std::min(room_for_returning() / static_cast<int>(of.size()), released_at_once);
  to.add(release_request{std::move(of), std::clamp(each, 1, static_cast<int>(longest_chain()))});
}

void intake::read_by_keys() {
  pace_.keys_only_until = state_.now() + by_keys_for;
}

}  // namespace outboxd::flow

// The part of stream.hpp before a round trip: what a stream asks next, and how much room it has.
#include <algorithm>
#include <utility>

#include "flow/stream/stream.hpp"

namespace outboxd::flow {
namespace {

using namespace std::chrono_literals;

// Look-ups in one round trip, and how many parked events each may bring.
constexpr int most_lookups = 500;
constexpr int released_at_once = 200;

// In transactions: a part of those that the next leader scans in one read.
constexpr xid worth_saving = 5'000;

// Most unmarkable events that are saved by name: further ones are read again by the next leader.
constexpr std::size_t most_saved_unsettled = 100;

}  // namespace

// All events up to here that were read as pending are settled.
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

// Until a first read, parked events may have pending ones before them.
bool stream::may_release() const {
  return room_for_returning() > 0 && reader_.has_read();
}

// Full memory would stay full if it had only events behind ones without texts, and rows that PostgreSQL
// refuses to write.
bool stream::may_fetch() const {
  if (!memory_is_full()) return true;
  std::size_t moving = 0;
  events_.for_each([&](slot, const unsettled::entry& one) {
    if (!one.is_unsent()) ++moving;
  });
  return moving <= put_off() && lanes_.any_up();
}

// How many events wait until PostgreSQL writes their outcome.
std::size_t stream::put_off() const {
  return writes_.marks.put_off() + writes_.records.put_off();
}

// Unsettled events are bounded, by number and by bytes; without a broker nothing is read. Many small reads
// cost more than one large read. But rows that PostgreSQL refuses to write may leave room for small reads
// only, and do not count for a rate limit.
int stream::room() const {
  if (phase_ != phase::running || !lanes_.any_up() || is_paused()) return 0;
  if (memory_is_full()) return 0;
  const int batch = lanes_.limit().worth_reading(limits_.read.batch);
  const int in_memory = static_cast<int>(events_.size());
  const int free = batch * limits_.batches - (in_memory - static_cast<int>(put_off()));
  return free < batch ? 0 : std::max(0, std::min(free, limits_.read.batch * limits_.batches - in_memory));
}

// A new event waits for the round trip under way, so while new events come, returning ones take little of
// each round trip.
int stream::portion() const {
  const int batch = lanes_.limit().worth_reading(limits_.read.batch);
  const bool beside_new_ones = new_ones_come() && (events_.returning().events > 0 || !agenda_.behind);
  return beside_new_ones ? std::max(1, batch / 16) : batch;
}

std::size_t stream::most_marks() const {
  const bool some_return = events_.returning().events > 0;
  return some_return && new_ones_come() ? static_cast<std::size_t>(portion()) : limits_.marks.most;
}

// The rest after a round trip with returning events: they use at most 1/8 of the time while new events arrive
// and are all read. Otherwise a busy machine would delay all events.
void stream::rest_returning() {
  const auto now = lanes_.now();
  if (new_ones_come() && !agenda_.behind) agenda_.returning_rest_until = now + 7 * (now - agenda_.asked_at);
}

// Returning events use at most half of the memory, so that a replay, or many events that become due together,
// never keep new events from being read.
int stream::room_for_returning() const {
  if (lanes_.now() < agenda_.returning_rest_until) return 0;
  const auto& back = events_.returning();
  if (back.bytes >= limits_.batch_bytes * limits_.batches / 2) return 0;
  const int batch = lanes_.limit().worth_reading(limits_.read.batch);
  const int piece = std::max(1, std::min(portion(), batch * limits_.batches / 4));
  const int free = batch * limits_.batches / 2 - static_cast<int>(back.events);
  return free < piece ? 0 : std::min({free, piece, room()});
}

// Nothing is sent until an answer proves the lead, and with full memory there may be no other question.
bool stream::owes_proof() const {
  return phase_ != phase::loading && !may_send() && events_.size() > 0;
}

shared_request stream::next() {
  if (phase_ == phase::idle || agenda_.asked) return nullptr;
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
  ask_to_record(out);
  ask_to_mark(out);
  if (out.questions.empty()) return nullptr;
  agenda_.asked = std::make_shared<const store_request>(std::move(out));
  agenda_.asked_at = lanes_.now();
  return agenda_.asked;
}

void stream::ask_to_record(store_request& to) {
  const auto* const group = writes_.records.begin(lanes_.now(), phase_ == phase::draining);
  if (group == nullptr) return;
  record_request out;
  for (const slot which : group->slots) out.failures.push_back(to_record(which));
  to.add(std::move(out));
}

void stream::ask_to_mark(store_request& to) {
  const auto* const group = writes_.marks.begin(lanes_.now(), phase_ == phase::draining, most_marks());
  if (group == nullptr) return;
  mark_request out;
  out.mode = group->mode;
  for (const slot which : group->slots) {
    const event& it = events_.at(which).it.what;
    out.keys.push_back(it.key());
    if (group->mode != mark_mode::by_place) {
      out.sent.push_back({it.written_by, it.event_type, it.payload, it.headers, it.exchange, it.routing_key});
      continue;
    }
    const bool first = out.places.empty();
    out.places.push_back(it.place);
    out.lowest = first ? it.seq : std::min(out.lowest, it.seq);
    out.highest = first ? it.seq : std::max(out.highest, it.seq);
  }
  to.add(std::move(out));
}

void stream::ask_to_read(store_request& to) {
  const auto now = lanes_.now();
  reader_.add_to(to, {.fresh = room(), .due = room_for_returning()}, now);
  ask_to_look(to);
  ask_to_fetch(to);
  scanner_.add_to(to, room_for_returning(), now);
  waiting_.add_to(to, room_for_returning(), now);
  ask_for_laggards(to);
  ask_to_release(to);
}

void stream::ask_to_release(store_request& to) {
  if (!may_release()) return;
  auto of = barriers_.held.take(
      static_cast<std::size_t>(std::min(most_lookups, portion())),
      [this](aggregate one) { return events_.length_of(one) > 0 || barriers_.dead.holds(one); });
  if (of.empty()) return;
  const int each = std::min(room_for_returning() / static_cast<int>(of.size()), released_at_once);
  to.add(release_request{std::move(of), std::clamp(each, 1, static_cast<int>(longest_chain()))});
}

// Together little more than a batch, but at least one; and only while there is memory.
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
  fetch_request out;
  for (const slot which : group->slots) out.keys.push_back(events_.at(which).it.what.key());
  const bool alone = group->slots.size() == 1;
  out.measured =
      (to.keys_only || group->is_single_again()) && !(alone && events_.at(group->slots.front()).immeasurable);
  to.add(std::move(out));
}

// Events that PostgreSQL refuses to mark do not hold it down; they are saved beside it.
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
  // Saving is a transaction, too: a slightly newer snapshot is not worth one.
  if (agenda_.saved && agenda_.saved->seq == now.seq &&
      now.seen.xmax < agenda_.saved->seen.xmax + worth_saving)
    return;
  save_request out{std::move(now)};
  for (const slot which : refused)
    if (events_.at(which).it.what.seq <= out.at.seq) out.unsettled.push_back(events_.at(which).it.what.seq);
  to.add(std::move(out));
}

}  // namespace outboxd::flow

#include "flow/stream/unsettled.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace outboxd::flow {

// Most ids are random already, and the map mixes the result.
std::size_t unsettled::key_hash::operator()(const event_key& key) const {
  std::uint64_t halves[2];
  std::memcpy(halves, key.id.bytes.data(), sizeof halves);
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15ULL;
  return halves[0] ^ ((halves[1] ^ static_cast<std::uint64_t>(key.seq) ^ (key.tx << 32U)) * odd);
}

std::optional<slot> unsettled::add(stored_event one) {
  const auto [known, is_new] = by_key_.try_emplace(one.what.key(), no_slot);
  if (!is_new) return std::nullopt;
  if (free_.empty()) {
    free_.push_back(static_cast<slot>(entries_.size()));
    entries_.emplace_back();
  }
  const slot which = free_.back();
  free_.pop_back();
  known->second = which;
  if (!one.withheld) count_bytes(one, one.size);
  if (one.from != exception::none) ++returning_.events;
  chain& in = chains_[one.what.aggregate];
  slot before = in.last;
  while (before != no_slot && entries_[before].is_unsent() && entries_[before].it.what.seq > one.what.seq)
    before = entries_[before].before;
  const slot after = before == no_slot ? in.first : entries_[before].after;
  (before == no_slot ? in.first : entries_[before].after) = which;
  (after == no_slot ? in.last : entries_[after].before) = which;
  ++in.length;
  const suspicion suspected = one.suspect ? suspicion::suspect : suspicion::none;
  entries_[which] = {.it = std::move(one),
                     .now = stage::queued{},
                     .before = before,
                     .after = after,
                     .so_far = {.suspected = suspected},
                     .route = {}};
  return which;
}

void unsettled::leave_chain(slot which) {
  entry& one = entries_[which];
  const auto found = chains_.find(one.it.what.aggregate);
  assert(found != chains_.end());
  if (found == chains_.end()) return;
  chain& in = found->second;
  if (one.it.from != exception::none) {
    --returning_.events;
    if (!one.it.withheld) returning_.bytes -= one.it.size;
  }
  if (one.is_offered()) --in.offered;
  if (in.offered_to == which) in.offered_to = one.before;
  (one.before == no_slot ? in.first : entries_[one.before].after) = one.after;
  (one.after == no_slot ? in.last : entries_[one.after].before) = one.before;
  one.before = one.after = no_slot;
  if (--in.length == 0) chains_.erase(found);
}

void unsettled::erase(slot which) {
  entry& one = entries_[which];
  if (!one.it.withheld) bytes_ -= one.it.size;
  by_key_.erase(one.it.what.key());
  one.it = {};
  one.now = stage::queued{};
  one.route.reset();
  free_.push_back(which);
}

void unsettled::clear() {
  *this = {};
}

slot unsettled::find(const event_key& key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? no_slot : found->second;
}

unsettled::chain* unsettled::find_chain(aggregate which) {
  const auto found = chains_.find(which);
  return found == chains_.end() ? nullptr : &found->second;
}

std::uint32_t unsettled::length_of(aggregate which) const {
  const auto found = chains_.find(which);
  return found == chains_.end() ? 0 : found->second.length;
}

std::vector<aggregate> unsettled::aggregates() const {
  std::vector<std::pair<std::int64_t, aggregate>> by_seq;
  by_seq.reserve(chains_.size());
  for (const auto& [which, in] : chains_) by_seq.emplace_back(entries_[in.first].it.what.seq, which);
  std::sort(by_seq.begin(), by_seq.end());
  std::vector<aggregate> out;
  out.reserve(by_seq.size());
  for (const auto& [seq, which] : by_seq) out.push_back(which);
  return out;
}

void unsettled::withhold(slot which) {
  stored_event& it = entries_[which].it;
  if (it.withheld) return;
  count_bytes(it, -it.size);
  it.withheld = true;
  for (auto* const text : {&it.what.aggregate_type, &it.what.aggregate_id, &it.what.event_type,
                           &it.what.payload, &it.what.headers})
    *text = {};
  it.what.exchange.reset();
  it.what.routing_key.reset();
  it.storage.reset();
  entries_[which].route.reset();
}

bool unsettled::complete(slot which, stored_event with) {
  stored_event& it = entries_[which].it;
  if (with.withheld || !it.withheld || with.what.key() != it.what.key() ||
      with.what.aggregate != it.what.aggregate)
    return false;
  with.from = it.from;
  with.read_for_destination =
      it.read_for_destination && with.waits_for == it.waits_for;  // false: its destination has changed
  with.withheld = false;
  count_bytes(with, with.size);
  it = std::move(with);
  return true;
}

}  // namespace outboxd::flow

#include "relay/claim_floors.hpp"

#include <algorithm>

#include "pg/binary.hpp"

namespace outboxd::relay {
namespace {

// To settle takes about 0.15 ms of PostgreSQL's CPU, to walk over a finished event some tenths of a microsecond in each
// claim of its shard.
constexpr std::size_t worth_settling = shard_count;
constexpr std::chrono::milliseconds between_turns{50};

}  // namespace

void claim_floors::forget() {
  ++generation_;
  floors_known_ = false;
  settled_ = {};
  epoch_.clear();
  encode();
}

pg::sweep_knowledge claim_floors::known() const {
  return {.floors = floors_known_ ? pg::floors_literal(floors_) : "",
          .settled = settled_,
          .epoch = epoch_,
          .searched = ""};
}

void claim_floors::learn(const pg::sweep_knowledge& found, unsigned asked_in) {
  if (asked_in != generation_) return;
  if (!epoch_.empty() && found.epoch != epoch_) {
    forget();
    asked_in = generation_;
  }
  epoch_ = found.epoch;
  const auto floors = pg::read_floors(found.floors);
  if (floors.size() == floors_.size()) {
    if (!floors_known_) floors_.fill(0);
    floors_known_ = true;
    for (std::size_t shard = 0; shard < floors_.size(); ++shard)
      floors_[shard] = std::max(floors_[shard], floors[shard]);
  }
  learn(found.settled, asked_in);
}

void claim_floors::learn(const pg::settled_knowledge& found, unsigned asked_in) {
  if (asked_in != generation_) return;
  if (found.mark.empty()) return forget();
  // Answers may come in another order than they were found in.
  const auto before = pg::read_settled(settled_);
  settled_ = found;
  if (pg::read_settled(found) < before) settled_.settled = std::to_string(before);
  encode();
}

void claim_floors::raise(const look& seen, unsigned asked_in) {
  if (asked_in != generation_ || !floors_known_) return;
  for (std::size_t i = 0; i < std::min(seen.shards.size(), seen.starts.size()); ++i) {
    if (seen.shards[i] < 0 || seen.shards[i] >= shard_count) continue;
    auto& floor = floors_[static_cast<std::size_t>(seen.shards[i])];
    floor = std::max(floor, seen.starts[i]);
  }
  if (seen.lowest)
    for (auto& floor : floors_) floor = std::max(floor, *seen.lowest);
  encode();
}

void claim_floors::raise(floor_of_each& floors, const batch_end& done) {
  for (const auto& [shard, below] : done.passed) {
    auto& floor = floors.at(static_cast<std::size_t>(shard));
    floor = std::max(floor, std::min(below, done.start.settled + 1));
  }
}

bool claim_floors::counts(const batch_end& done) const {
  return done.start.generation == generation_ && floors_known_ && !done.passed.empty();
}

void claim_floors::raise(const batch_end& done) {
  if (!counts(done)) return;
  raise(floors_, done);
  encode();
}

std::vector<std::string> claim_floors::parameters_after(const batch_end& done) const {
  if (!counts(done)) return parameters_;
  auto floors = floors_;
  raise(floors, done);
  return encoded(floors);
}

bool claim_floors::take_turn_to_settle(time_point now) {
  if (!floors_known_ || claimed_since_ < worth_settling || now < next_turn_) return false;
  claimed_since_ = 0;
  next_turn_ = now + between_turns;
  return true;
}

void claim_floors::encode() {
  if (!floors_known_) {
    parameters_ = no_parameters();
    return;
  }
  parameters_ = encoded(floors_);
}

std::vector<std::string> claim_floors::encoded(const floor_of_each& floors) const {
  const auto lowest = *std::min_element(floors.begin(), floors.end());
  return {pg::floors_parameter(floors), pg::int8(pg::read_settled(settled_)), pg::int8(lowest)};
}

std::vector<std::string> claim_floors::no_parameters() {
  return {pg::floors_parameter({}), pg::int8(-1), pg::int8(0)};
}

}  // namespace outboxd::relay

#include "relay/claim_choice.hpp"

#include <algorithm>
#include <array>
#include <bitset>

#include "pg/binary.hpp"
#include "pg/outbox_statements.hpp"
#include "relay/outbox.hpp"

namespace outboxd::relay {
namespace {

// Where one is large, more are to be expected: each that comes unexpected makes its claim be made twice.
constexpr int sums_after_a_large_one = 16;

// The same for what cannot be claimed in bulk.
constexpr int shards_after_a_failure = 16;

// A claim that brings up to half as many is followed by one that takes no more than this. One that cannot be served costs a
// round trip.
constexpr int most_of_few = 32;

// After a refusal; after each further one in a row twice as many, for what it is refused for may stay.
constexpr int others_after_a_refusal = 16;
constexpr int most_others = 1024;

// Shards that are behind the others begin the range: they catch up, but those that are ahead have nothing in it. These have their
// part of every fourth claim then. Where few seqs of the range are pending events, it is not worth it.
constexpr int most_with_shards_left_out = 3;
constexpr int most_poor = 3;

// However many shards a claim has, each may have so much of the batch, see claimed in sql/.
constexpr std::size_t most_parts = 16;

// A claim in bulk reads a range of at most so many seqs for each event of a batch, see claimed_in_bulk in sql/.
constexpr std::int64_t widest = 4;
constexpr std::int64_t seqs_for_all_shards = 60;

}  // namespace

claim_choice::claim_choice(int batch, std::int64_t batch_bytes)
    : batch_(batch), batch_bytes_(batch_bytes), others_(others_after_a_refusal) {}

std::string_view claim_choice::statement() const {
  if (in_bulk()) return pg::statement::claim_in_bulk;
  if (few()) return pg::statement::claim_few;
  return sums() ? pg::statement::claim_within : pg::statement::claim;
}

std::vector<std::string> claim_choice::parameters() const {
  if (in_bulk()) return {pg::int4(batch_), pg::int8(largest_in_bulk())};
  if (few()) return {pg::int4(most_few()), pg::int8(largest_of_few())};
  return {pg::int4(batch_), pg::int8(sums() ? batch_bytes_ : share())};
}

std::int64_t claim_choice::largest_in_bulk() const {
  return share() / widest;
}

// Of seqs, as claimed_in_bulk has it.
std::int64_t claim_choice::range(std::size_t shards) const {
  if (shards == 0) return 0;
  return std::min(batch_ * seqs_for_all_shards / static_cast<std::int64_t>(shards), batch_ * widest);
}

// Events in it, if all seqs are pending and spread evenly over the shards.
std::int64_t claim_choice::expected(std::size_t shards) const {
  return range(shards) * static_cast<std::int64_t>(shards) / shard_count;
}

bool claim_choice::learn(const batch& claimed, const place& where) {
  was_in_bulk_ = in_bulk();
  if (was_in_bulk_) return learn_from_bulk(claimed, where);
  return few() ? learn_from_few(claimed) : learn_from_shards(claimed, where);
}

bool claim_choice::learn_from_few(const batch& claimed) {
  if (!claimed.withheld) {
    if (!claimed.events.empty()) others_ = others_after_a_refusal;
    return false;
  }
  sums_left_ = sums_after_a_large_one;
  on_refused();
  return true;
}

void claim_choice::on_refused() {
  few_ = false;
  not_few_left_ = others_;
  others_ = std::min(others_ * 2, most_others);
}

int claim_choice::most_few() const {
  return std::min(most_of_few, batch_);
}

bool claim_choice::learn_from_bulk(const batch& claimed, const place& where) {
  if (where.shards == 0) {
    bulk_ = false;
    return false;
  }
  const bool failed = claimed.withheld || claimed.events.empty();
  const bool wasteful =
      std::ssize(claimed.events) > batch_ * std::int64_t{3} / 2;  // more than a batch is read for nothing
  poor_ = poor(claimed, where) ? poor_ + 1 : 0;
  left_out_ = leaves_out(claimed, where) ? left_out_ + 1 : 0;
  if (failed || wasteful || poor_ == most_poor)
    rest(shards_after_a_failure);
  else if (left_out_ == most_with_shards_left_out)
    rest(1);
  else
    bulk_ = suits_bulk(claimed, where);
  return failed;
}

bool claim_choice::learn_from_shards(const batch& claimed, const place& where) {
  if (has_large(claimed, share()))
    sums_left_ = sums_after_a_large_one;
  else if (sums() && !claimed.events.empty())
    --sums_left_;
  if (shards_left_ > 0 && !claimed.events.empty()) --shards_left_;
  bulk_ = !sums() && shards_left_ == 0 && suits_bulk(claimed, where) &&
          std::ssize(claimed.events) * 4 >= std::int64_t{batch_} * 3;
  if (not_few_left_ > 0) --not_few_left_;
  few_ = not_few_left_ == 0 && std::ssize(claimed.events) * 2 <= most_few() &&
         on_straight_way(claimed, largest_of_few());
  return claimed.withheld;
}

bool claim_choice::has_large(const batch& claimed, std::int64_t size) {
  return claimed.withheld || std::any_of(claimed.events.begin(), claimed.events.end(), [&](const event& one) {
           return static_cast<std::int64_t>(size_of(one)) > size;
         });
}

bool claim_choice::on_straight_way(const batch& claimed, std::int64_t largest) {
  return !has_large(claimed, largest) &&
         std::all_of(claimed.events.begin(), claimed.events.end(), [](const event& one) {
           return one.attempts == 0 && one.nacks == 0 && !one.behind && !one.has_followers;
         });
}

bool claim_choice::poor(const batch& claimed, const place& where) const {
  return std::ssize(claimed.events) * 4 < expected(where.shards);
}

// Some of these shards. Each has pending events, or it would not have been taken.
bool claim_choice::leaves_out(const batch& claimed, const place& where) {
  std::bitset<shard_count> seen;
  for (const event& one : claimed.events)
    if (one.shard >= 0 && one.shard < shard_count) seen.set(static_cast<std::size_t>(one.shard));
  return seen.count() < where.shards;
}

// A range may have far more events of a busy aggregate than can go one by one while the batch is held.
void claim_choice::on_settled(std::size_t events, std::size_t done) {
  if (was_in_bulk_ && done * 3 < events * 2) rest(shards_after_a_failure);
}

void claim_choice::rest(int claims) {
  bulk_ = false;
  shards_left_ = claims;
  poor_ = 0;
  left_out_ = 0;
}

// A claim of as many shards can be expected to find most of a batch, and no event that needs more than to be sent.
bool claim_choice::suits_bulk(const batch& claimed, const place& where) const {
  if (expected(where.shards) * 4 < std::int64_t{batch_} * 3) return false;
  return on_straight_way(claimed, largest_in_bulk());
}

bool claim_choice::reached_by(const batch& claimed, const place& where) const {
  if (where.shards == 0 || claimed.events.empty()) return false;
  if (in_bulk()) {
    const std::int64_t seqs = range(where.shards);
    const std::int64_t end =
        std::min(claimed.events.front().seq + seqs, where.start + batch_ * widest);  // or earlier
    return std::ssize(claimed.events) > batch_ || poor(claimed, where) || leaves_out(claimed, where) ||
           claimed.events.back().seq >= end - 1 - seqs / 8;
  }
  const auto batch = static_cast<std::size_t>(batch_);
  const std::size_t most = std::max((batch + where.shards - 1) / where.shards, batch / most_parts);
  std::array<std::size_t, shard_count> events{};
  std::size_t bytes = 0;
  bool reached = false;
  for (const event& one : claimed.events) {
    bytes += size_of(one);
    const auto shard = static_cast<std::size_t>(one.shard);
    if (shard < events.size()) reached = ++events[shard] >= most || reached;
  }
  return reached || static_cast<std::int64_t>(bytes) >= batch_bytes_ / 2;
}

}  // namespace outboxd::relay

#include "relay/claim_limit.hpp"

#include <algorithm>
#include <array>

#include "pg/binary.hpp"
#include "pg/outbox_statements.hpp"
#include "relay/outbox.hpp"

namespace outboxd::relay {
namespace {

// Where one is large, more are to be expected: each that comes unexpected makes its claim be made twice.
constexpr int sums_after_a_large_one = 16;

// However many shards a claim has, each may have so much of the batch, see claimed in sql/.
constexpr std::size_t most_parts = 16;

}  // namespace

std::string_view claim_limit::statement() const {
  return sums() ? pg::statement::claim_within : pg::statement::claim;
}

std::vector<std::string> claim_limit::parameters() const {
  return {pg::int4(batch_), pg::int8(sums() ? batch_bytes_ : share())};
}

void claim_limit::learn(const batch& claimed) {
  const bool large =
      claimed.withheld || std::any_of(claimed.events.begin(), claimed.events.end(), [&](const event& one) {
        return static_cast<std::int64_t>(size_of(one)) > share();
      });
  if (large)
    sums_left_ = sums_after_a_large_one;
  else if (sums() && !claimed.events.empty())
    --sums_left_;
}

bool claim_limit::reached_by(const batch& claimed, std::size_t shards) const {
  if (shards == 0) return false;
  const auto batch = static_cast<std::size_t>(batch_);
  const std::size_t most = std::max((batch + shards - 1) / shards, batch / most_parts);
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

// claim_floors: from where on claims look at each shard, as sweeps and earlier claims have found out. See take_shards, settle
// and sweep in sql/.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pg/outbox_statements.hpp"
#include "relay/outbox.hpp"

namespace outboxd::relay {

// A server that crashes or is replaced may have lost commits, and what was known of the table is no longer true. Every
// session with it ends then, though not all at the same moment: with the end of any of them all is forgotten, and an
// answer that was under way is not taken.
class claim_floors {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  unsigned generation() const { return generation_; }
  void forget();

  bool floors_known() const { return floors_known_; }
  // For the next sweep: all that is known. For settle: a part of it.
  pg::sweep_knowledge known() const;
  const pg::settled_knowledge& settled() const { return settled_; }
  // The shards that lanes of this relay have locked and not yet asked to unlock, a bit for each. Who locks some takes them,
  // and must leave them again before it sends what unlocks them: else another lane would pass over what has just come.
  void take(std::uint64_t shards) { held_ |= shards; }
  void leave(std::uint64_t shards) { held_ &= ~shards; }
  std::uint64_t held() const { return held_; }

  // For take_shards: the floors, none if they are not known; settled; and the lowest floor.
  const std::vector<std::string>& parameters() const { return parameters_; }
  static std::vector<std::string> no_parameters();

  // What a sweep has found. Without a mark, seqs are not to be relied on, and all is forgotten; and in another epoch all that
  // was known before.
  void learn(const pg::sweep_knowledge& found, unsigned asked_in);
  // What settle has found.
  void learn(const pg::settled_knowledge& found, unsigned asked_in);
  // What a claim has seen: where these shards begin, and all of them.
  struct look {
    std::span<const std::int64_t> shards;
    std::span<const std::int64_t> starts;
    std::optional<std::int64_t> lowest;
  };
  void raise(const look& seen, unsigned asked_in);

  // What is known when a claim is sent, and what its batch leaves behind: below these seqs nothing of these shards is pending
  // that the claim could see. That is all there is up to what was settled then, but not up to what is settled now: a
  // transaction may have committed an event and ended in between.
  struct batch_start {
    std::int64_t settled = -1;
    unsigned generation = 0;
  };
  struct batch_end {
    batch_start start;
    std::vector<passed_shard> passed;
  };
  batch_start start_of_batch() const { return {pg::read_settled(settled_), generation_}; }
  void raise(const batch_end& done);
  // For the claim that follows in the same round trip: parameters() as they are after that.
  std::vector<std::string> parameters_after(const batch_end& done) const;

  // Finished events above the floors are what claims walk over. So the more is claimed, the more often it pays to settle:
  // true if a claim should do so now, which counts as done.
  bool take_turn_to_settle(time_point now);
  void note_claimed(std::size_t events) { claimed_since_ += events; }

 private:
  using floor_of_each = std::array<std::int64_t, shard_count>;
  static void raise(floor_of_each& floors, const batch_end& done);
  bool counts(const batch_end& done) const;
  std::vector<std::string> encoded(const floor_of_each& floors) const;
  void encode();

  floor_of_each floors_{};
  bool floors_known_ = false;
  pg::settled_knowledge settled_;
  std::string epoch_;
  std::vector<std::string> parameters_ = no_parameters();
  unsigned generation_ = 0;
  std::uint64_t held_ = 0;
  std::size_t claimed_since_ = 0;
  time_point next_turn_;
};

}  // namespace outboxd::relay

// claim_choice: with which statement a lane claims, and how its claims keep within relay.batch_bytes.
//
// While events are small, none of a batch is larger than its share of the bytes, and nothing need be summed up. A claim that
// meets a larger one is made again with the sum, and so are the next ones. In a backlog claims are made in bulk, and where they
// bring little, by claim_few: see sql/. Each lane has a choice of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/event.hpp"

namespace outboxd::relay {

class claim_choice {
 public:
  claim_choice(int batch, std::int64_t batch_bytes);

  // Before each claim. Few or in bulk only where the floors are known: else much of what they look at would be finished.
  void begin(bool floors_known) { floors_known_ = floors_known; }

  // The statement to claim with, and its parameters; of claim_few those before the floors.
  std::string_view statement() const;
  std::vector<std::string> parameters() const;
  bool in_bulk() const { return bulk_ && floors_known_; }
  bool few() const { return few_ && floors_known_ && !bulk_; }
  // The most that claim_few may take.
  int most_few() const;

  // Where a claim was made: how many shards, and the lowest of their starts.
  struct place {
    std::size_t shards = 0;
    std::int64_t start = 0;
  };

  // What a claim with this choice has brought, before the next one is chosen: have its limits kept events of these shards out
  // of it, as far as can be seen? The batch has half of the bytes, or as many events of one shard as a shard may have; or, in bulk,
  // events from the end of the range, few, more than a batch, or none of some shard.
  bool reached_by(const batch& claimed, const place& where) const;

  // Is a claim with this choice that has not reached its limits known to have all that is pending in its shards? With a sum it may
  // end before an event that is too large for the rest of it, and in bulk before a gap.
  bool tells_all() const { return !in_bulk() && (few() || !sums()); }

  // Chooses for the next claim. True: this one has to be made again, with what is chosen now.
  bool learn(const batch& claimed, const place& where);
  // claim_few has refused.
  void on_refused();

  // So many of a batch's events are done, the others are given back.
  void on_settled(std::size_t events, std::size_t done);

 private:
  bool sums() const { return sums_left_ > 0; }
  bool learn_from_bulk(const batch& claimed, const place& where);
  bool learn_from_shards(const batch& claimed, const place& where);
  bool learn_from_few(const batch& claimed);
  static bool has_large(const batch& claimed, std::int64_t size);
  static bool on_straight_way(const batch& claimed, std::int64_t largest);
  bool suits_bulk(const batch& claimed, const place& where) const;
  bool poor(const batch& claimed, const place& where) const;
  static bool leaves_out(const batch& claimed, const place& where);
  void rest(int claims);
  std::int64_t share() const { return batch_bytes_ / batch_; }
  std::int64_t largest_of_few() const { return batch_bytes_ / most_few(); }
  std::int64_t range(std::size_t shards) const;
  std::int64_t expected(std::size_t shards) const;
  std::int64_t largest_in_bulk() const;

  int batch_;                 // events
  std::int64_t batch_bytes_;  // of all of them
  int sums_left_ = 0;         // claims to make with the sum
  int shards_left_ = 0;       // claims to make shard after shard
  int poor_ = 0;              // claims in bulk in a row that brought little
  int left_out_ = 0;          // and that had nothing of some shard
  bool bulk_ = false;         // to claim in bulk, if the floors are known
  bool was_in_bulk_ = false;  // the last claim
  bool few_ = false;          // to claim with claim_few, likewise
  int not_few_left_ = 0;      // claims to make otherwise
  int others_;                // after the next refusal
  bool floors_known_ = false;
};

}  // namespace outboxd::relay

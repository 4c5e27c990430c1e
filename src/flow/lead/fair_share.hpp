// fair_share: how many shards one relay leads beside the others, and which of its leaders takes one or gives
// one up.
#pragma once

#include <cstdint>
#include <vector>

#include "flow/clock.hpp"

namespace outboxd::flow {

class leader;

// Pure. Leaders are not tied to shards: each stands by for any.
class fair_share {
 public:
  // It outlives this.
  void add(const leader& one) { all_.push_back(&one); }

  void on_shards(int shards) { shards_ = shards; }
  // So many relays could lead a shard: those of the outbox that have a broker.
  void on_counted(int relays);

  int shards() const { return shards_; }
  int relays() const { return relays_; }
  int led() const;
  std::vector<std::int64_t> led_shards() const;
  // There is always one more leader than shards are led, as long as there are shards to lead.
  bool lacks_leader() const;

  // One at a time, the first that is free.
  bool may_lead(const leader& one) const;
  // The latest one gives up first, of those that may.
  bool has_too_many(const leader& one, clock::time_point now) const;
  // One of them does for all what concerns the relay, the first that has a session: it shows that the relay
  // is there, and counts the others.
  bool speaks(const leader& one) const;
  // The relay is among those that are counted.
  bool is_present() const;

 private:
  int share() const { return (shards_ + relays_ - 1) / relays_; }

  std::vector<const leader*> all_;
  int shards_ = 1;
  int relays_ = 1;
};

}  // namespace outboxd::flow

// fair_share: decides how many shards this relay leads next to other relays, and which of its leaders takes
// or gives up a lead.
#pragma once

#include <cstdint>
#include <vector>

#include "flow/clock.hpp"

namespace outboxd::flow {

class leader;

// Pure. Leaders are not tied to shards: each stands by for any shard.
class fair_share {
 public:
  // The leader must outlive this object.
  void add(const leader& one) { all_.push_back(&one); }

  void on_shards(int shards) { shards_ = shards; }
  // The number of relays of this outbox that could lead a shard: those with a connection to the broker.
  void on_counted(int relays);

  int shards() const { return shards_; }
  int relays() const { return relays_; }
  int led() const;
  std::vector<std::int64_t> led_shards() const;
  // True if a leader must be added. While there are shards to lead, a relay has one leader more than the
  // shards that it leads.
  bool lacks_leader() const;

  // Only one leader at a time may take a lead: the first free one.
  bool may_lead(const leader& one) const;
  // True for the last leader that may make way, if the relay leads too many shards.
  bool has_too_many(const leader& one, clock::time_point now) const;
  // True for the one leader that acts for the whole relay: the first that has a session. That leader
  // registers the relay as present, and counts the other relays.
  bool speaks(const leader& one) const;
  // True if the other relays count this one.
  bool is_present() const;

 private:
  int share() const { return (shards_ + relays_ - 1) / relays_; }

  std::vector<const leader*> all_;
  int shards_ = 1;
  int relays_ = 1;
};

}  // namespace outboxd::flow

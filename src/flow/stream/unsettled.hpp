// unsettled: the events that a stream has read and not yet settled: their states, and their aggregates as
// chains.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/routing.hpp"
#include "flow/dispatch/suspicion.hpp"
#include "flow/identity.hpp"
#include "flow/stream/event_stage.hpp"
#include "flow/stream/store.hpp"

namespace outboxd::flow {

class unsettled {
 public:
  // The connections over which it was in flight when they ended.
  struct interruptions {
    suspicion suspected = suspicion::none;
    bool unconfirmed = false;  // one was given up for its silence
    std::chrono::steady_clock::time_point latest{};
  };

  struct entry {
    stored_event it;
    event_stage now;
    slot before = no_slot;  // in its chain
    slot after = no_slot;
    interruptions so_far;
    bool immeasurable = false;                        // the size of its texts could not be had
    bool goes_as_first = false;                       // of its chain: it was refused behind an unsettled one
    std::chrono::steady_clock::time_point seen_at{};  // its row said this then, or later
    std::int16_t lane = -1;                           // that it was offered to last
    std::uint64_t turn = 0;                           // of that offer among all offers
    std::shared_ptr<const routed> route;              // null: none, or its texts are not here

    template <class Stage>
    bool is() const {
      return std::holds_alternative<Stage>(now);
    }
    // At a lane: it or its dead letter.
    bool is_offered() const {
      const auto* const dead = std::get_if<stage::letter>(&now);
      return dead != nullptr ? dead->offered : is<stage::offered>();
    }
    // In its chain and at no lane: it or its dead letter.
    bool is_queued() const { return is<stage::queued>() || (is<stage::letter>() && !is_offered()); }
    bool is_unsent() const { return is_queued() || is<stage::fetching>(); }
  };

  // An aggregate's events in the order in which they go out.
  struct chain {
    slot first = no_slot;
    slot last = no_slot;
    std::uint32_t length = 0;
    std::uint32_t offered = 0;  // of them
    std::int32_t lane = -1;     // that they were offered to
    bool returns = false;       // they go as events that had waited in the table do; decided by the first
    slot offered_to = no_slot;  // all up to this one are offered, and none travels alone; or it is not known
  };

  // Puts it into its chain, by seq among those that have no lane yet. Nothing if it is there already.
  std::optional<slot> add(stored_event one);

  // Ends its time in the chain; the chain goes with its last event.
  void leave_chain(slot which);
  void erase(slot which);
  void clear();

  entry& at(slot which) { return entries_[which]; }
  const entry& at(slot which) const { return entries_[which]; }
  aggregate aggregate_of(slot which) const { return entries_[which].it.what.aggregate; }
  slot find(const event_key& key) const;
  chain* find_chain(aggregate which);
  std::uint32_t length_of(aggregate which) const;
  std::vector<aggregate> aggregates() const;  // that have a chain: by the seq of their first event

  std::size_t size() const { return by_key_.size(); }
  // Of the texts that are here.
  std::int64_t bytes() const { return bytes_; }
  // Those in chains that had waited in the table: for their time, behind another one, for the end of an
  // outage.
  struct share {
    std::size_t events = 0;
    std::int64_t bytes = 0;
  };
  const share& returning() const { return returning_; }
  // Its row has changed: its texts have to be fetched.
  void withhold(slot which);
  // The texts of a withheld event have come. False if they are of another event.
  bool complete(slot which, stored_event with);

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [key, which] : by_key_) visit(which, entries_[which]);
  }

 private:
  struct key_hash {
    std::size_t operator()(const event_key& key) const;
  };

  void count_bytes(const stored_event& of, std::int64_t bytes) {
    bytes_ += bytes;
    if (of.from != exception::none) returning_.bytes += bytes;
  }

  std::vector<entry> entries_;
  std::vector<slot> free_;
  boost::unordered_flat_map<event_key, slot, key_hash> by_key_;
  boost::unordered_flat_map<aggregate, chain> chains_;
  std::int64_t bytes_ = 0;
  share returning_;
};

}  // namespace outboxd::flow

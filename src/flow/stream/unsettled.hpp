// unsettled: the events that a stream has read but not settled: their stages, and a chain for each aggregate.
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
  // The channels and connections that ended while the event was in flight.
  struct interruptions {
    suspicion suspected = suspicion::none;
    bool unconfirmed = false;  // one connection was dropped because no confirms came
    std::chrono::steady_clock::time_point latest{};
  };

  struct entry {
    stored_event it;
    event_stage now;
    slot before = no_slot;  // neighbours in its chain
    slot after = no_slot;
    interruptions so_far;
    bool immeasurable = false;                        // measuring the size of its texts has failed
    bool goes_as_first = false;                       // the event failed as a later one of its chain; it is
                                                      // to be sent as the first
    std::chrono::steady_clock::time_point seen_at{};  // the row had this content at this time, and possibly
                                                      // later
    std::int16_t lane = -1;                           // the last lane to which it was offered
    std::uint64_t turn = 0;                           // number of that offer among all offers
    std::shared_ptr<const routed> route;              // null: no route matches, or the event's texts are not
                                                      // fetched

    template <class Stage>
    bool is() const {
      return std::holds_alternative<Stage>(now);
    }
    // On a lane: the event or its dead letter.
    bool is_offered() const {
      const auto* const dead = std::get_if<stage::letter>(&now);
      return dead != nullptr ? dead->offered : is<stage::offered>();
    }
    // In its chain and on no lane: the event or its dead letter.
    bool is_queued() const { return is<stage::queued>() || (is<stage::letter>() && !is_offered()); }
    bool is_unsent() const { return is_queued() || is<stage::fetching>(); }
  };

  // The events of an aggregate in sending order.
  struct chain {
    slot first = no_slot;
    slot last = no_slot;
    std::uint32_t length = 0;
    std::uint32_t offered = 0;  // number of events on a lane
    std::int32_t lane = -1;     // the lane to which they were offered
    bool returns = false;       // the chain's events are sent as returning events; the first event decides
    slot offered_to = no_slot;  // all events up to this one are offered, and none travels alone; no_slot:
                                // unknown
  };

  // Adds the event to its chain, by seq among the events that are not on a lane. Returns nullopt if the event
  // is already there.
  std::optional<slot> add(stored_event one);

  // Removes the event from its chain; the chain ends with its last event.
  void leave_chain(slot which);
  void erase(slot which);
  void clear();

  entry& at(slot which) { return entries_[which]; }
  const entry& at(slot which) const { return entries_[which]; }
  aggregate aggregate_of(slot which) const { return entries_[which].it.what.aggregate; }
  slot find(const event_key& key) const;
  chain* find_chain(aggregate which);
  std::uint32_t length_of(aggregate which) const;
  std::vector<aggregate> aggregates() const;  // those with a chain, by the seq of their first event

  std::size_t size() const { return by_key_.size(); }
  // Bytes of all texts in memory.
  std::int64_t bytes() const { return bytes_; }
  // Returning events in chains: those that were scheduled, blocked, or waiting for a destination.
  struct share {
    std::size_t events = 0;
    std::int64_t bytes = 0;
  };
  const share& returning() const { return returning_; }
  // The row has changed, so its texts must be fetched.
  void withhold(slot which);
  // The texts of a withheld event were fetched. Returns false if they belong to another event.
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

// held_aggregates: the aggregates whose later events are blocked, and when to look for those that may
// continue.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "flow/stream/store.hpp"

namespace outboxd::flow {

enum class hold : std::uint8_t {
  head_waits,  // an event of it backs off
  draining,    // only parked events are left: they are looked up in portions
};

// Bounded. Above the bound, every aggregate counts as held: its events are parked, which costs a write, and
// are looked up later, at once or page by page.
class held_aggregates {
 public:
  explicit held_aggregates(std::size_t most) : most_(most) {}

  bool holds(aggregate which) const {
    return overflown_ || held_.contains(which) || to_record_.contains(which);
  }
  std::size_t size() const { return held_.size(); }
  bool knows(aggregate which) const { return held_.contains(which); }

  // An event of it backs off, or parked ones were found: then they are looked up.
  void begin(aggregate which, hold how);

  // The event that it waited for is published, dead or gone.
  void on_head_settled(aggregate which);

  // An event of it will be recorded as parked or backing off; it was recorded.
  void on_to_record(aggregate which);
  void on_recorded(aggregate which);

  // Aggregates to look up now, up to a limit; `busy`: it has events in memory, which go first and then ask
  // for a look-up.
  template <class Busy>
  std::vector<aggregate> take(std::size_t most, Busy&& busy) {
    std::vector<aggregate> out;
    while (!asks_.empty() && out.size() < most) {
      const aggregate which = asks_.front();
      asks_.pop_front();
      asked_.erase(which);
      if (!busy(which)) out.push_back(which);
    }
    return out;
  }
  bool asks() const { return !asks_.empty(); }

  // Answers to a look-up.
  void on_head_waits(aggregate which);
  // All its parked events were read. Events that are still to be recorded are looked up afterwards.
  void on_all_released(aggregate which);

  // A page of the table: all waiting aggregates after `after`, up to `last`. Known ones that are missing are
  // looked up.
  void on_page(const std::vector<held_aggregate>& page, aggregate after, aggregate last);

  void clear();

 private:
  hold* track(aggregate which);
  void ask(aggregate which);

  std::size_t most_;
  boost::unordered_flat_map<aggregate, hold> held_;
  boost::unordered_flat_map<aggregate, std::uint32_t> to_record_;  // how many events of it
  std::deque<aggregate> asks_;
  boost::unordered_flat_set<aggregate> asked_;  // the same
  bool overflown_ = false;                      // some held aggregates are not remembered
  // All pages since the first were complete, and no aggregate has escaped them.
  bool clean_pass_ = false;
};

}  // namespace outboxd::flow

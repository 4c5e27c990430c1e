// held_aggregates: the aggregates whose later events are blocked; decides when to look up events that are no
// longer blocked.
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
  head_waits,  // one of its events backs off
  draining,    // the aggregate has only parked events left, which are looked up in portions
};

// Limited in size. Above the limit, every aggregate counts as held: its events are parked, which costs a
// write, and are looked up later, at once or page by page.
class held_aggregates {
 public:
  explicit held_aggregates(std::size_t most) : most_(most) {}

  bool holds(aggregate which) const {
    return overflown_ || held_.contains(which) || to_record_.contains(which);
  }
  std::size_t size() const { return held_.size(); }
  bool knows(aggregate which) const { return held_.contains(which); }

  // Called if an event of this aggregate backs off, or if parked events were found, which are then looked up.
  void begin(aggregate which, hold how);

  // The event that blocked this aggregate was published, has become dead, or was deleted.
  void on_head_settled(aggregate which);

  // on_to_record: an event of this aggregate will be recorded as parked or backing off. on_recorded: the
  // record was written.
  void on_to_record(aggregate which);
  void on_recorded(aggregate which);

  // Returns the aggregates to look up now, at most `most`. `busy`: whether an aggregate has events in memory;
  // these are sent first, and a look-up is requested after them.
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

  // The answers to a look-up.
  void on_head_waits(aggregate which);
  // All parked events of this aggregate were read. If some of its events are not recorded yet, the aggregate
  // is looked up again after their records.
  void on_all_released(aggregate which);

  // A page of the table lists all waiting aggregates above `after`, up to `last`. Aggregates that are held
  // here but not listed are looked up.
  void on_page(const std::vector<held_aggregate>& page, aggregate after, aggregate last);

  void clear();

 private:
  hold* track(aggregate which);
  void ask(aggregate which);

  std::size_t most_;
  boost::unordered_flat_map<aggregate, hold> held_;
  boost::unordered_flat_map<aggregate, std::uint32_t> to_record_;  // number of its events to record
  std::deque<aggregate> asks_;
  boost::unordered_flat_set<aggregate> asked_;  // the elements of asks_
  bool overflown_ = false;                      // some held aggregates did not fit
  // All pages since the first one were complete, and none of them can lack an aggregate.
  bool clean_pass_ = false;
};

}  // namespace outboxd::flow

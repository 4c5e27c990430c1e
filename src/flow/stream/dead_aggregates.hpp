// dead_aggregates: the aggregates that have a dead event, if dead events block later ones.
#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>
#include <vector>

#include "flow/stream/store.hpp"

namespace outboxd::flow {

// Pure. All such aggregates are kept in memory, at some 20 bytes each.
class dead_aggregates {
 public:
  bool holds(aggregate which) const { return held_.contains(which); }
  std::size_t size() const { return held_.size(); }
  template <class Condition>
  std::size_t count_if(Condition&& holds) const {
    std::size_t out = 0;
    for (const aggregate one : held_) out += holds(one) ? 1 : 0;
    return out;
  }

  // An event of this aggregate has become dead.
  void add(aggregate which);

  // A scan reads all dead events of the table, page by page. end_scan returns the aggregates that have no
  // dead event any more.
  void begin_scan() { seen_.clear(); }
  void on_page(const std::vector<aggregate>& page);
  std::vector<aggregate> end_scan();

 private:
  boost::unordered_flat_set<aggregate> held_;
  boost::unordered_flat_set<aggregate> seen_;  // since begin_scan
};

}  // namespace outboxd::flow

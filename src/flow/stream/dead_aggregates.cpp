#include "flow/stream/dead_aggregates.hpp"

#include <utility>

namespace outboxd::flow {

void dead_aggregates::add(aggregate which) {
  held_.insert(which);
  seen_.insert(which);
}

void dead_aggregates::on_page(const std::vector<aggregate>& page) {
  held_.insert(page.begin(), page.end());
  seen_.insert(page.begin(), page.end());
}

std::vector<aggregate> dead_aggregates::end_scan() {
  std::vector<aggregate> gone;
  for (const aggregate one : held_)
    if (!seen_.contains(one)) gone.push_back(one);
  for (const aggregate one : gone) held_.erase(one);
  seen_.clear();
  return gone;
}

}  // namespace outboxd::flow

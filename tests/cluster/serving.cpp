#include "serving.hpp"

#include <algorithm>
#include <set>

namespace outboxd::cluster {

stretches led(std::vector<lead_change> changes, const stretch& whole) {
  std::stable_sort(changes.begin(), changes.end(),
                   [](const auto& one, const auto& other) { return one.at < other.at; });
  stretches out;
  std::set<int> leaders;
  micros since = 0;
  const auto end_at = [&](micros at) {
    const stretch one{std::max(since, whole.from), std::min(at, whole.to)};
    if (one.from < one.to) out.push_back(one);
  };
  for (const auto& change : changes) {
    const bool before = !leaders.empty();
    if (change.leads)
      leaders.insert(change.node);
    else
      leaders.erase(change.node);
    if (!before && !leaders.empty()) since = change.at;
    if (before && leaders.empty()) end_at(change.at);
  }
  if (!leaders.empty()) end_at(whole.to);
  return out;
}

stretches without(const stretches& from, const stretches& gaps) {
  stretches left = from;
  for (const auto& gap : gaps) {
    stretches next;
    for (const auto& one : left) {
      if (one.from < gap.from) next.push_back({one.from, std::min(one.to, gap.from)});
      if (gap.to < one.to) next.push_back({std::max(one.from, gap.to), one.to});
    }
    left = next;
  }
  return left;
}

micros longest_gap(const stretches& served, const stretch& whole) {
  micros longest = 0;
  for (const auto& gap : without({whole}, served)) longest = std::max(longest, gap.to - gap.from);
  return longest;
}

micros longest_open(const stretches& events, const stretches& served) {
  micros longest = 0;
  for (const auto& event : events)
    for (const auto& one : served)
      longest = std::max(longest, std::min(event.to, one.to) - std::max(event.from, one.from));
  return longest;
}

}  // namespace outboxd::cluster

#include "flow/lead/fair_share.hpp"

#include <algorithm>

#include "flow/lead/leader.hpp"

namespace outboxd::flow {

void fair_share::on_counted(int relays) {
  relays_ = std::max(1, relays);
}

int fair_share::led() const {
  return static_cast<int>(
      std::ranges::count_if(all_, [](const leader* each) { return each->leads().has_value(); }));
}

std::vector<std::int64_t> fair_share::led_shards() const {
  std::vector<std::int64_t> out;
  for (const leader* const each : all_)
    if (each->leads()) out.push_back(*each->leads());
  return out;
}

bool fair_share::lacks_leader() const {
  return static_cast<int>(all_.size()) < std::min(shards_, led() + 1);
}

bool fair_share::may_lead(const leader& one) const {
  if (led() >= share()) return false;
  const auto first = std::ranges::find_if(all_, [](const leader* each) { return !each->leads(); });
  return first != all_.end() && *first == &one;
}

bool fair_share::has_too_many(const leader& one, clock::time_point now) const {
  if (led() <= share()) return false;
  const auto last = std::find_if(all_.rbegin(), all_.rend(), [now](const leader* each) {
    return each->leads().has_value() && each->may_make_way(now);
  });
  return last != all_.rend() && *last == &one;
}

bool fair_share::speaks(const leader& one) const {
  const auto first = std::ranges::find_if(all_, &leader::has_session);
  return first != all_.end() && *first == &one;
}

bool fair_share::is_present() const {
  return std::ranges::any_of(all_, &leader::present);
}

}  // namespace outboxd::flow

#include "flow/lead/flood.hpp"

#include <algorithm>

namespace outboxd::flow {

void flood::add(int sender, int count, clock::time_point now) {
  if (now - since_ >= limits_.window) forget(now);
  by_sender_[sender] += count;
  all_ += count;
}

bool flood::begins(clock::time_point now) {
  if (lasts_ || all_ < limits_.most) return false;
  begin(now, limits_.deaf_for);
  return true;
}

void flood::on_lost(clock::time_point now) {
  if (all_ < limits_.most) return;
  const bool once_more = now - lost_until_ < limits_.window;
  lost_deaf_for_ = once_more ? std::min(2 * lost_deaf_for_, limits_.deaf_at_most) : limits_.deaf_for;
  begin(now, lost_deaf_for_);
  lost_until_ = until_;
}

void flood::begin(clock::time_point now, std::chrono::milliseconds deaf_for) {
  const auto most = std::max_element(by_sender_.begin(), by_sender_.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  const bool is_one = most != by_sender_.end() && most->first > 0 && most->second >= limits_.most / 2;
  loudest_ = is_one && is_just_over(now) ? most->first : 0;
  lasts_ = true;
  until_ = now + deaf_for;
  forget(now);
}

bool flood::ends(clock::time_point now) {
  if (!lasts_ || now < until_) return false;
  lasts_ = false;
  until_ = now;
  forget(now);
  return true;
}

int flood::loudest(clock::time_point now) const {
  return lasts_ || is_just_over(now) ? loudest_ : 0;
}

void flood::forget(clock::time_point now) {
  since_ = now;
  by_sender_.clear();
  all_ = 0;
}

}  // namespace outboxd::flow

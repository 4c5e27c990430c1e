#include "flow/retention/prune_walk.hpp"

#include <algorithm>

namespace outboxd::flow {

void prune_walk::begin(clock::time_point now) {
  from_start_ = !from_start_at_ || now - *from_start_at_ >= until_restart();
  if (from_start_) {
    from_start_at_ = now;
    old_up_to_ = position::before_all;
  }
  from_ = old_up_to_;
  young_ = 0;
}

bool prune_walk::on_walked(const stretch& found, clock::time_point now) {
  if (found.last_old) {
    old_up_to_ = *found.last_old;
    young_ = found.young;
  } else {
    young_ += found.rows;
  }
  if (found.rows > 0) from_ = found.last;
  const bool more = found.full && young_ < enough_young;
  if (!more && from_start_) took_ = now - *from_start_at_;
  return more;
}

prune_walk::clock::duration prune_walk::until_restart() const {
  const auto by_age = std::clamp<clock::duration>(keep_ / 10, soonest_restart, latest_restart);
  return std::max(by_age, took_ * restart_share);
}

}  // namespace outboxd::flow

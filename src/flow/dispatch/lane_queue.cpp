#include "flow/dispatch/lane_queue.hpp"

#include <algorithm>

namespace outboxd::flow {
namespace {

// Maximum number of new events sent in a row while a returning event waits.
constexpr int most_in_a_row = 7;

template <class Queue>
std::optional<queued_message> first_that_may(const Queue& of) {
  const auto found = std::find_if(of.begin(), of.end(),
                                  [](const queued_message& one) { return one.whose->is_sure_of_lead(); });
  return found == of.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

std::optional<queued_message> lane_queue::next(const room& now) const {
  const auto fresh = first_that_may(fresh_);
  const auto returning = now.for_returning ? first_that_may(returning_) : std::nullopt;
  const auto lone = first_that_may(alone_);
  const auto& other = returning && (!fresh || fresh_in_a_row_ >= most_in_a_row) ? returning : fresh;
  if (other && (!lone || others_left_ > 0)) return other;
  return now.idle ? lone : std::nullopt;
}

void lane_queue::take(const queued_message& one) {
  auto& from = queue_of(one);
  from.erase(std::find_if(from.begin(), from.end(), [&](const queued_message& each) {
    return each.whose == one.whose && each.which == one.which;
  }));
  if (one.alone) {
    others_left_ = fresh_.size() + returning_.size();
    return;
  }
  if (others_left_ > 0) --others_left_;
  fresh_in_a_row_ = one.returning ? 0 : std::min(fresh_in_a_row_ + 1, most_in_a_row);
}

std::vector<slot> lane_queue::withdraw(const lane_client& whose, const std::function<bool(slot)>& which) {
  std::vector<slot> out;
  for (queue* const each : all())
    std::erase_if(*each, [&](const queued_message& one) {
      if (one.whose != &whose || !which(one.which)) return false;
      out.push_back(one.which);
      return true;
    });
  return out;
}

std::vector<queued_message> lane_queue::take_all() {
  std::vector<queued_message> out(alone_.begin(), alone_.end());
  out.insert(out.end(), fresh_.begin(), fresh_.end());
  out.insert(out.end(), returning_.begin(), returning_.end());
  *this = {};
  return out;
}

}  // namespace outboxd::flow

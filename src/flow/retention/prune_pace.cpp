#include "flow/retention/prune_pace.hpp"

#include <algorithm>

namespace outboxd::flow {

prune_pace::duration prune_pace::after(duration took, load now) {
  refusals_ = 0;
  retry_ = first_retry;
  if (took * 2 < aim) rows_ = std::min(rows_ * 2, most_rows);
  if (took > aim * 2) rows_ = std::max(rows_ / 2, least_rows);
  return std::min(took * (now == load::backlog ? yielding_share : resting_share), longest_rest);
}

// A statement for fewer rows meets fewer locks and takes less time.
prune_pace::duration prune_pace::after_refusal() {
  ++refusals_;
  rows_ = std::max(rows_ / 2, least_rows);
  const auto rest = retry_;
  retry_ = std::min(retry_ * 2, longest_retry);
  return rest;
}

}  // namespace outboxd::flow

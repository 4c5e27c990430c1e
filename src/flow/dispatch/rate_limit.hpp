// rate_limit: how many messages may go out in a time: a token bucket.
#pragma once

#include <cstdint>

#include "flow/clock.hpp"

namespace outboxd::flow {

// Pure. In any time t no more than t * rate + burst go out. The burst is a tenth of a second's worth, one at
// least: an event that comes alone need not wait, and a relay that was idle does not make up for that.
class rate_limit {
 public:
  // Messages a second; 0: no limit.
  explicit rate_limit(std::int64_t per_second = 0);

  bool is_set() const { return per_second_ > 0; }
  bool allows(clock::time_point now) const { return !is_set() || full_at_ - slack_ <= now; }
  // One has gone.
  void count(clock::time_point now);
  // While it does not allow any: when to ask again. Not sooner than after 10 ms, by when several may be
  // allowed.
  clock::time_point ask_again_at(clock::time_point now) const;

  // How many to read at once, of a batch: what goes out in a second. What is read and not sent would only
  // grow old in memory.
  int worth_reading(int batch) const;

 private:
  std::int64_t per_second_;
  std::chrono::nanoseconds interval_{0};  // between two
  std::chrono::nanoseconds slack_{0};     // how much sooner than that the last of a burst may go
  clock::time_point full_at_{};           // when the bucket is full again
};

}  // namespace outboxd::flow

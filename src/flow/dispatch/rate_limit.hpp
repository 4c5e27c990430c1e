// rate_limit: how many messages may be sent in a time: a token bucket.
#pragma once

#include <cstdint>

#include "flow/clock.hpp"

namespace outboxd::flow {

// Pure. In any time t, at most t * rate + burst messages are sent. The burst is a tenth of a second's worth,
// but at least one: a single event need not wait, and a relay that was idle does not catch up.
class rate_limit {
 public:
  // Messages a second; 0: no limit.
  explicit rate_limit(std::int64_t per_second = 0);

  bool is_set() const { return per_second_ > 0; }
  bool allows(clock::time_point now) const { return !is_set() || full_at_ - slack_ <= now; }
  // One has gone.
  void count(clock::time_point now);
  // When to ask again if none is allowed now: after at least 10 ms, because several may be allowed by then.
  clock::time_point ask_again_at(clock::time_point now) const;

  // How many events of a batch to read at once: a second's worth, because more would only grow old in memory.
  int worth_reading(int batch) const;

 private:
  std::int64_t per_second_;
  std::chrono::nanoseconds interval_{0};  // between two
  std::chrono::nanoseconds slack_{0};     // how much earlier the last of a burst may go
  clock::time_point full_at_{};           // when the bucket is full again
};

}  // namespace outboxd::flow

// rate_limit: limits the messages sent per second: a token bucket.
#pragma once

#include <cstdint>

#include "flow/clock.hpp"

namespace outboxd::flow {

// Pure. In any period of t seconds, at most t * rate + burst messages are sent. The burst is 0.1 s of the
// rate, but at least one message: a single event does not wait, and a relay that was idle does not catch up.
class rate_limit {
 public:
  // Messages per second; 0: no limit.
  explicit rate_limit(std::int64_t per_second = 0);

  bool is_set() const { return per_second_ > 0; }
  bool allows(clock::time_point now) const { return !is_set() || full_at_ - slack_ <= now; }
  // Call this for each message sent.
  void count(clock::time_point now);
  // The time of the next attempt if no message is allowed now: at least 10 ms later, because several messages
  // may be allowed by then.
  clock::time_point ask_again_at(clock::time_point now) const;

  // The number of events to read at once, at most `batch`: one second of the rate, because more would only
  // become stale in memory.
  int worth_reading(int batch) const;

 private:
  std::int64_t per_second_;
  std::chrono::nanoseconds interval_{0};  // between two messages
  std::chrono::nanoseconds slack_{0};     // how early the last message of a burst may be sent
  clock::time_point full_at_{};           // when the bucket is full again
};

}  // namespace outboxd::flow

// partition_rotator: has the outbox go on in another partition again and again while a run lasts.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "arena.hpp"

namespace outboxd::chaos {

/// For a partitioned outbox, whose partitions are over as soon as they have begun: see arena. What a relay
/// does once a minute and when it takes the lead, this does once an interval.
class partition_rotator {
 public:
  partition_rotator(const arena& where, std::chrono::milliseconds interval);
  ~partition_rotator();

  /// No more of them.
  void finish();

 private:
  void run();

  const arena& where_;
  const std::chrono::milliseconds interval_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

/// How many partitions have been written to, for the words about a run.
std::int64_t partitions_used(test::database& session);

}  // namespace outboxd::chaos

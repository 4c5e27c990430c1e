// partition_rotator: repeatedly switches the outbox to the next partition during a run.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "arena.hpp"

namespace outboxd::chaos {

/// For a partitioned outbox whose periods are over as soon as they have begun (see arena). Does once per
/// interval what a relay does once a minute and when it takes the lead.
class partition_rotator {
 public:
  partition_rotator(const arena& where, std::chrono::milliseconds interval);
  ~partition_rotator();

  /// Stops the switching.
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

/// The number of partitions that have been written to, for the summary of a run.
std::int64_t partitions_used(test::database& session);

}  // namespace outboxd::chaos

// recorder: the only consumer of the queue, which records all messages in the order of arrival.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "arena.hpp"
#include "support/history.hpp"

namespace outboxd::chaos {

class recorder {
 public:
  recorder(const arena& where, test::history& into);
  ~recorder();

  /// Stops consuming, so that the queue fills up.
  void pause() { paused_ = true; }
  void resume() { paused_ = false; }
  /// Waits until all messages now in the queue are recorded; returns false on a timeout.
  bool drain(std::chrono::milliseconds limit);
  /// The number of connects.
  int sessions() const { return sessions_; }

 private:
  void run();
  void read();

  const arena& arena_;
  test::history& history_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> paused_ = false;
  std::atomic<int> sessions_ = 0;
  std::atomic<int> marks_seen_ = 0;
  int marks_sent_ = 0;
  std::thread thread_;
};

}  // namespace outboxd::chaos

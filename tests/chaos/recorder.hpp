// recorder: the single consumer of the queue, which writes down everything in the order of its arrival.
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

  /// Takes nothing more, so that the queue fills up.
  void pause() { paused_ = true; }
  void resume() { paused_ = false; }
  /// Waits until everything is recorded that is in the queue now; false: it did not get there in time.
  bool drain(std::chrono::milliseconds limit);
  /// How often it had to connect.
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

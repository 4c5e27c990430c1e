// load: writers that commit events until told to stop, one session each, and come back when the server goes.
#pragma once

#include <atomic>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "stage.hpp"

namespace outboxd::test {

struct load_options {
  int writers = 2;
  int aggregates = 50;  // of each writer: an aggregate has one writer, and so an order
  int events = 0;       // of each writer; 0: until stop()
  // After each transaction, on the server; longer while 2,000 events are pending.
  double pause_seconds = 0.004;
};

class load {
 public:
  load(const stage& on, const load_options& how = {});
  ~load();

  /// Ends after the transactions under way; throws what a writer threw.
  void stop();
  /// Waits until every writer has written its events.
  void finish();

 private:
  void write(int writer);
  void pause(database& session) const;

  const stage& stage_;
  load_options how_;
  std::atomic<bool> stopping_ = false;
  std::exception_ptr failure_;
  std::atomic<bool> failed_ = false;
  std::vector<std::thread> writers_;
};

}  // namespace outboxd::test

// writers: applications that write events in transactions, and record which of them were committed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "arena.hpp"
#include "event_kind.hpp"
#include "odd_rows.hpp"

namespace outboxd::chaos {

struct writer_settings {
  std::uint64_t seed = 1;
  int writers = 4;
  int aggregates = 400;  // total; each belongs to one writer, so its events have an order
  /// Events per mille that are bad on purpose.
  int bad = 10;
  /// Events per mille that are rows of the poison table; each writer begins with one, unless this is zero.
  int odd = 10;
  /// Whether these include events that the broker rejects, which end only when their retries are exhausted.
  bool refused = true;
  std::chrono::milliseconds longest_pause{60};
};

struct commit_time {
  std::chrono::steady_clock::time_point began;
  std::chrono::microseconds took;
};

struct written {
  std::unordered_set<std::string> committed;  // confirmed by the server
  std::unordered_set<std::string> aborted;    // certainly not committed
  std::unordered_set<std::string> unknown;    // the reply to COMMIT was lost; the table shows the result
  std::unordered_map<std::string, event_kind> bad;
  std::unordered_map<std::string, const test::poison*> odd;
  std::vector<commit_time> commits;
  std::size_t transactions = 0;
  std::size_t interrupted = 0;  // transactions interrupted by a fault
};

class writers {
 public:
  writers(const arena& where, const writer_settings& how);
  ~writers();

  /// Stops after the current transactions; rethrows the exception of a writer.
  void stop();
  /// The records so far.
  written all() const;
  /// The longest duration of a current transaction so far.
  std::chrono::milliseconds longest_under_way() const;

 private:
  class one;
  void run(int number);

  const arena& arena_;
  writer_settings settings_;
  std::atomic<bool> stopping_ = false;
  mutable std::mutex mutex_;
  written written_;                               // guarded by mutex_
  std::exception_ptr failure_;                    // guarded by mutex_
  std::vector<std::atomic<std::int64_t>> since_;  // start of a transaction in steady milliseconds; 0: none
  std::vector<std::thread> threads_;
};

}  // namespace outboxd::chaos

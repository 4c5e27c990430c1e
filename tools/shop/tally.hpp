// tally: commits, deliveries and latencies; shared by the writers and the consumer.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace outboxd::shop {

using steady_clock = std::chrono::steady_clock;
using milliseconds = std::chrono::duration<double, std::milli>;

/// Latency from the moment a writer sent COMMIT to the moment the consumer had the message: an upper bound of
/// the time since the commit itself, measured with one clock in one process.
struct latency {
  milliseconds p50, p95, p99, max;
};

struct counts {
  std::size_t committed = 0;
  std::size_t rolled_back = 0;
  std::size_t delivered = 0;     // different events
  std::size_t missing = 0;       // committed, not delivered (yet)
  std::size_t phantom = 0;       // delivered, not committed (yet)
  std::size_t duplicates = 0;    // additional copies that were published again
  std::size_t redelivered = 0;   // copies that the broker redelivered
  std::size_t out_of_order = 0;  // first deliveries not after their aggregate's latest seq
  std::optional<shop::latency> latency;
};

/// Thread-safe. A delivery may be recorded before its commit, because the relay can be faster than the reply
/// to COMMIT.
class tally {
 public:
  /// `sent`: when COMMIT was sent.
  void committed(const std::string& id, steady_clock::time_point sent);
  void rolled_back();
  void delivered(const std::string& id, const std::string& aggregate, std::int64_t seq, bool redelivered,
                 steady_clock::time_point received);
  /// Reports that a part of the shop cannot continue; only the first message is kept.
  void fail(std::string sentence);
  /// Called by each writer when it ends; `expect_writers` must be called first.
  void writer_finished();
  void expect_writers(unsigned count);

  /// Waits until all writers have ended and nothing is missing, or something has failed, or until `until`.
  /// Returns false if `until` was reached.
  bool wait_complete(steady_clock::time_point until);
  bool writing() const;
  std::optional<std::string> failure() const;
  std::optional<steady_clock::time_point> last_commit() const;

  counts count() const;
  /// Some ids of committed events that have not arrived, and of arrived ones that were not committed.
  std::vector<std::string> missing(std::size_t limit) const;
  std::vector<std::string> phantoms(std::size_t limit) const;
  /// Discards the latencies but keeps the counts; called after the first event, which waited for the relay.
  void forget_latencies();

 private:
  struct event {
    std::optional<steady_clock::time_point> sent, received;
  };
  void settle(const event& which);
  std::vector<std::string> with(bool sent, bool received, std::size_t limit) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<std::string, event> events_;
  std::unordered_map<std::string, std::int64_t> latest_seq_;  // per aggregate
  std::vector<milliseconds> latencies_;
  counts counts_;
  unsigned writers_ = 0;
  std::optional<steady_clock::time_point> last_commit_;
  std::optional<std::string> failure_;
};

}  // namespace outboxd::shop

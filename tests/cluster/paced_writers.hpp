// paced_writers: applications that commit events at a modest rate, and write down what the server said of
// each commit.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace outboxd::cluster {

/// One transaction.
struct written {
  std::vector<std::string> ids;
  int port = 0;  // of the server that it was sent to
  bool acknowledged = false;
  // Positions in the log of that server: its commit is behind the first, and not behind the second.
  std::optional<std::int64_t> after;
  std::optional<std::int64_t> before;
};

class paced_writers {
 public:
  static constexpr int writers = 3;

  /// `url`: of a database with an outbox. They come back whenever it goes.
  paced_writers(std::string url, std::string event_type, std::uint64_t seed);
  ~paced_writers();
  paced_writers(const paced_writers&) = delete;
  paced_writers& operator=(const paced_writers&) = delete;

  /// Returns when no transaction is under way; throws what a writer threw.
  void pause();
  void resume();
  std::vector<written> all() const;

 private:
  enum class state { writing, paused, stopping };

  void run(int number);
  void go_on(state from, state to);
  void stop();

  const std::string url_;
  const std::string event_type_;
  const std::uint64_t seed_;
  std::atomic<state> state_ = state::writing;
  std::atomic<int> resting_ = 0;
  mutable std::mutex mutex_;
  std::vector<written> written_;  // guarded by mutex_
  std::exception_ptr failure_;    // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace outboxd::cluster

// flood: whether more notifications arrive than anybody needs, so that it is better not to listen for a
// while; and who sends them. Pure.
#pragma once

#include <chrono>
#include <map>

#include "flow/clock.hpp"

namespace outboxd::flow {

struct flood_limits {
  // A leader that is rung for more often than this polls, which costs less.
  int most = 5'000;  // in a window, of all senders
  std::chrono::milliseconds window{5'000};
  std::chrono::milliseconds deaf_for{5'000};  // without listening; then it listens, to see whether it goes on
  std::chrono::milliseconds deaf_at_most{300'000};  // after floods that each cost a session
};

class flood {
 public:
  explicit flood(const flood_limits& limits = {}) : limits_(limits) {}

  // So many notifications of this process of the server have arrived.
  void add(int sender, int count, clock::time_point now);

  // Whether to stop listening now, and whether to listen again.
  bool begins(clock::time_point now);
  bool ends(clock::time_point now);
  // The session is gone. If it has got a flood, that may be why: the next one does not listen at first. If it
  // goes so, too, when it listens, the one after it waits for twice as long.
  void on_lost(clock::time_point now);
  // Nobody listens.
  bool lasts() const { return lasts_; }
  clock::time_point next() const { return lasts_ ? until_ : clock::time_point::max(); }

  // The process that sends most of a flood that did not stop while nobody listened; else 0.
  int loudest(clock::time_point now) const;

 private:
  bool is_just_over(clock::time_point now) const { return now - until_ < limits_.window; }
  void begin(clock::time_point now, std::chrono::milliseconds deaf_for);
  void forget(clock::time_point now);

  flood_limits limits_;
  clock::time_point since_{};
  std::map<int, int> by_sender_;  // since then
  int all_ = 0;
  bool lasts_ = false;
  std::chrono::milliseconds lost_deaf_for_{};  // after the latest session that was lost
  clock::time_point lost_until_{};
  clock::time_point until_{};  // the latest one
  int loudest_ = 0;
};

}  // namespace outboxd::flow

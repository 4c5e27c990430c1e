// simulated_world: virtual time and chance: everything that happens, happens here, in an order that the seed decides.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <utility>

#include "relay/lane.hpp"

namespace outboxd::test {

using relay::clock;
using std::chrono::milliseconds;

class simulated_world {
 public:
  explicit simulated_world(std::uint64_t seed) : random_(seed) {}

  clock::time_point now() const { return now_; }
  std::size_t steps() const { return steps_; }

  void at(clock::time_point when, std::function<void()> what) {
    agenda_.emplace(std::pair{std::max(when, now_), next_++}, std::move(what));
  }
  void after(milliseconds delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }

  // Until that time, or until nothing is left to happen.
  void run_until(clock::time_point end) {
    while (!agenda_.empty() && agenda_.begin()->first.first <= end) {
      auto first = agenda_.extract(agenda_.begin());
      now_ = first.key().first;
      ++steps_;
      first.mapped()();
    }
    now_ = std::max(now_, end);
  }

  std::int64_t between(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  milliseconds delay(std::int64_t least, std::int64_t most) { return milliseconds(between(least, most)); }
  bool chance(std::int64_t in_thousand) { return between(1, 1000) <= in_thousand; }

 private:
  clock::time_point now_{std::chrono::hours(1)};
  std::map<std::pair<clock::time_point, std::uint64_t>, std::function<void()>> agenda_;
  std::uint64_t next_ = 0;
  std::size_t steps_ = 0;
  std::mt19937_64 random_;
};

// A relay's process: what reaches it, reaches it in order, and not while it is stopped (SIGSTOP)
// or after its end.
class simulated_process {
 public:
  explicit simulated_process(simulated_world& world) : world_(world) {}

  void stop_for(milliseconds pause) { resumes_ = std::max(resumes_, world_.now() + pause); }

  void kill() { killed_ = true; }

  void run(std::function<void()> what) {
    if (killed_) return;
    if (world_.now() >= resumes_) return what();
    world_.at(resumes_, [this, what = std::move(what)] { run(what); });
  }

 private:
  simulated_world& world_;
  clock::time_point resumes_;
  bool killed_ = false;
};

}  // namespace outboxd::test

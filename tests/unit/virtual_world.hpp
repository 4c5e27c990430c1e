// virtual_world: virtual time and chance: everything that happens, happens here, in an order that the seed
// decides.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "flow/stream/write_queue.hpp"

namespace outboxd::test {

using flow::clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

class virtual_world {
 public:
  explicit virtual_world(std::uint64_t seed) : random_(seed) {}

  clock::time_point now() const { return now_; }
  timestamp wall() const {
    return timestamp(std::chrono::duration_cast<microseconds>(now_.time_since_epoch()) +
                     std::chrono::years(56));
  }
  std::size_t steps() const { return steps_; }

  void at(clock::time_point when, std::function<void()> what) {
    agenda_.push_back({std::max(when, now_), next_++, std::move(what)});
    std::push_heap(agenda_.begin(), agenda_.end());
  }
  void after(clock::duration delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }

  void run_until(clock::time_point end) {
    while (!agenda_.empty() && agenda_.front().when <= end) {
      std::pop_heap(agenda_.begin(), agenda_.end());
      const item first = std::move(agenda_.back());
      agenda_.pop_back();
      now_ = first.when;
      ++steps_;
      first.what();
    }
    now_ = std::max(now_, end);
  }

  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }
  microseconds micros(std::int64_t least, std::int64_t most) { return microseconds(between(least, most)); }
  microseconds millis(std::int64_t least, std::int64_t most) { return micros(least * 1000, most * 1000); }
  bool chance(std::int64_t in_thousand) { return between(1, 1000) <= in_thousand; }
  template <class T>
  T one_of(std::initializer_list<T> all) {
    return *(all.begin() + between(0, static_cast<std::int64_t>(all.size()) - 1));
  }
  std::uint64_t number() { return random_(); }

 private:
  struct item {
    clock::time_point when;
    std::uint64_t order;
    std::function<void()> what;
    bool operator<(const item& other) const {
      return std::pair(when, order) > std::pair(other.when, other.order);  // the heap's top is the earliest
    }
  };

  clock::time_point now_{std::chrono::hours(1)};
  std::vector<item> agenda_;
  std::uint64_t next_ = 0;
  std::size_t steps_ = 0;
  std::mt19937_64 random_;
};

// A relay's process: what reaches it, reaches it in order, not while it is stopped (SIGSTOP), and not after
// its end.
class virtual_process {
 public:
  explicit virtual_process(virtual_world& world) : world_(world) {}

  void freeze_until(clock::time_point when) {
    if (when <= resumes_) return;
    resumes_ = when;
    world_.at(when, [this] { resume(); });
  }
  bool frozen() const { return world_.now() < resumes_; }
  void kill() { killed_ = true; }
  bool killed() const { return killed_; }

  void run(std::function<void()> what) {
    if (killed_) return;
    if (!frozen() && missed_.empty()) return what();
    missed_.push_back(std::move(what));
  }

 private:
  void resume() {
    while (!frozen() && !killed_ && !missed_.empty()) {
      const auto what = std::move(missed_.front());
      missed_.pop_front();
      what();
    }
  }

  virtual_world& world_;
  clock::time_point resumes_;
  std::deque<std::function<void()>> missed_;  // while it was stopped
  bool killed_ = false;
};

}  // namespace outboxd::test

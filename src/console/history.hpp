// history: the figures of the last minutes, for the chart.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>

namespace outboxd::console {

struct figures {
  std::chrono::system_clock::time_point at;
  double published_per_second = 0;
  std::int64_t pending = 0;
  std::int64_t waiting = 0;
  std::int64_t dead = 0;
};

class history {
 public:
  static constexpr std::chrono::minutes kept{10};

  // If the clock is set back, the history starts again, because time in a chart only increases.
  void add(const figures& now) {
    if (!all_.empty() && now.at <= all_.back().at) all_.clear();
    all_.push_back(now);
    while (all_.front().at + kept < now.at) all_.pop_front();
  }

  const std::deque<figures>& all() const { return all_; }

 private:
  std::deque<figures> all_;
};

// When to query again. A query takes the database at most `took`. Queries use up to a fiftieth of the
// database's time, but the interval is at most ten seconds, so that viewers stay informed.
inline std::chrono::milliseconds pause_between_looks(std::chrono::milliseconds took, bool watched) {
  using namespace std::chrono_literals;
  constexpr int share = 50;
  const auto least = std::chrono::milliseconds(watched ? 2s : 10s);
  const auto most = std::chrono::milliseconds(watched ? 10s : 60s);
  return std::clamp(took * share, least, most);
}

}  // namespace outboxd::console

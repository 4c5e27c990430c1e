// repeated: logs a lasting condition once, and afterwards its count once a minute.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace outboxd::app {

class repeated {
 public:
  using clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds interval{60};
  static constexpr std::size_t most = 100;  // maximum number of conditions; beyond it, all are forgotten

  // Counts an occurrence of the condition. Returns nullopt if it should not be logged now; otherwise the
  // number of occurrences since the last log line, or 0 for a new condition.
  std::optional<std::size_t> meet(const std::string& condition, clock::time_point now) {
    if (all_.size() >= most && !all_.contains(condition)) all_.clear();
    const auto [at, is_new] = all_.try_emplace(condition, known{now, 0});
    if (is_new) return 0;
    ++at->second.unsaid;
    if (now - at->second.said < interval) return std::nullopt;
    at->second.said = now;
    return std::exchange(at->second.unsaid, 0);
  }

  // Ends the conditions, so that the next occurrence is new.
  void forget() { all_.clear(); }

 private:
  struct known {
    clock::time_point said;
    std::size_t unsaid = 0;
  };
  std::map<std::string, known> all_;
};

}  // namespace outboxd::app

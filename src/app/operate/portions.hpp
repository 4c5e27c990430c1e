// portions: changes selected events, each portion in a transaction of its own, under one row of outbox.audit.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/operate/selected.hpp"
#include "app/operate/values.hpp"

namespace outboxd::app {

inline constexpr std::int64_t most_in_portion = 1000;

// Keeps to a rate: portions of a quarter of a second, and a pause before each for those before it. Without a
// rate it rests after each portion as long as that took, for writers and relays use the same table.
class pace {
 public:
  using clock = std::chrono::steady_clock;

  explicit pace(std::optional<std::int64_t> rate, clock::time_point now = clock::now())
      : rate_(rate), next_(now) {}
  std::int64_t most() const {
    return rate_ ? std::clamp<std::int64_t>(*rate_ / 4, 1, most_in_portion) : most_in_portion;
  }
  // When the next portion may begin; whoever waits until then says so with began().
  clock::time_point next() const { return next_; }
  void began(clock::time_point now = clock::now()) { next_ = now; }
  void took(std::int64_t events, clock::time_point now = clock::now()) {
    next_ += rate_ ? std::chrono::microseconds(events * 1'000'000 / *rate_) : 2 * (now - next_);
  }

 private:
  std::optional<std::int64_t> rate_;
  clock::time_point next_;
};

// One of the events that had not been sent.
struct named_event {
  selected_event which;
  bool changed = false;  // else it had been published, or somebody else has changed it
};

class portions {
 public:
  // Opens the row of outbox.audit. `session` has to outlive it, and is the one in which all portions go.
  static outcome<portions> begin(operator_session& session, change what, const change_order& given,
                                 const std::vector<change_value>& values);

  // Returns how many were changed; the others had been changed by others before. `into`: which, for those
  // changes that tell it, of events that had not been sent.
  outcome<std::int64_t> apply(std::span<const selected_event> events, std::vector<named_event>& into);

  // The id of the row, whose count is written with each portion.
  const std::string& audit() const { return parameters_.at(1); }

 private:
  portions(operator_session& session, bool tells_which) : session_(&session), tells_which_(tells_which) {}

  operator_session* session_;
  bool tells_which_;
  std::string call_;
  std::vector<std::string> parameters_;  // ids, audit, seqs, and what else is given
};

}  // namespace outboxd::app

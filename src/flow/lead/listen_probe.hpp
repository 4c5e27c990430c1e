// listen_probe: when to prove that notifications arrive, and what to think of the answer. Pure.
#pragma once

#include <chrono>

namespace outboxd::flow {

struct probe_limits {
  std::chrono::milliseconds interval{10'000};
  std::chrono::milliseconds answer_timeout{3'000};  // how long a notification may take
};

// LISTEN can die without a sign (a pooler, a proxy): a notification to oneself is the proof. One at a time.
class listen_probe {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  explicit listen_probe(const probe_limits& limits) : limits_(limits) {}

  // A new session listens: nothing is proven yet.
  void begin(time_point first_probe);

  bool due(time_point now) const { return state_ == state::resting && now >= next_; }
  void on_sent(time_point now);
  // It could not be sent, which proves nothing: it is due again.
  void on_unsent(time_point now);

  // The answer is overdue. Look once more before on_deaf(): this process may have been stopped.
  bool late(time_point now) const { return state_ == state::awaiting && now >= next_; }

  // Both return whether that is news, also compared with sessions before.
  bool on_heard(time_point now);
  bool on_deaf(time_point now);

  bool hears() const { return hears_; }

 private:
  enum class state {
    none,      // no session has listened yet
    resting,   // the next probe is due at next_
    awaiting,  // one is sent, and overdue at next_
  };

  probe_limits limits_;
  state state_ = state::none;
  time_point next_;
  bool hears_ = false;
  bool said_deaf_ = false;
};

}  // namespace outboxd::flow

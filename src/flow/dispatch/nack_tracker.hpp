// nack_tracker: the nacks of one connection, and when another connection is worth a try.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "flow/dispatch/destination.hpp"

namespace outboxd::flow {

struct refusal_limits {
  std::size_t most = 1'000;  // destinations that are remembered
  // After this long with nothing but nacks, for several destinations, the broker is to blame.
  std::size_t many = 3;
  std::chrono::milliseconds all_refused{1'000};
  // A destination that was nacked for this long may have a stale channel. Doubled with each renewal; reset
  // after the longest time without one.
  std::chrono::milliseconds first_renewal{500};
  std::chrono::milliseconds longest_renewal{60'000};
  // If nothing has been confirmed on a connection, a new one harms no others.
  std::chrono::milliseconds longest_of_useless{1'000};
};

// Pure. A channel can stay refused although its queue has recovered. Seen with 3.10 and quorum queues: a
// channel that first publishes to a queue while its leader's node is down asks that node for ever
// (rabbit_fifo_client), though another one leads by now; and RabbitMQ tells a channel once that a queue of
// the overflow behaviour reject-publish takes messages again, but not when a policy that had this behaviour
// is removed. Only a new channel notices.
class nack_tracker {
 public:
  explicit nack_tracker(const refusal_limits& limits = {}) : limits_(limits) {}

  // A new connection.
  void on_up(clock::time_point now);

  void on_nacked(const destination& to, clock::time_point now);
  void on_acked(const destination& to);
  // Something has been confirmed on this connection.
  bool is_proven() const { return use_ == use::proven; }
  // Whether the next ack tells anything.
  bool waits_for_ack() const { return use_ == use::unproven || !latest_.empty(); }

  // True if only nacks came, for several destinations, for long enough: another node may do better.
  bool nothing_else(clock::time_point now) const;

  // True if the latest nacked destination has been refused on this connection for long enough, or if the
  // connection has had no confirm for long enough.
  bool worth_renewing(clock::time_point now) const { return due_ && now >= *due_; }
  void on_renewal(clock::time_point now);

 private:
  enum class use : std::uint8_t {
    unproven,  // nothing has been confirmed on this connection yet
    proven,
  };
  using key = std::pair<std::string, std::string>;
  struct times {
    clock::time_point first;  // on this connection
    clock::time_point last;
  };

  refusal_limits limits_;
  std::map<key, times> latest_;                   // since their latest ack
  std::optional<clock::time_point> alone_since_;  // the first nack behind the latest ack
  std::optional<clock::time_point> due_;          // a renewal, because of the latest nack
  std::chrono::milliseconds pause_ = limits_.first_renewal;
  std::optional<clock::time_point> renewed_at_;
  clock::time_point up_at_{};
  use use_ = use::unproven;
};

}  // namespace outboxd::flow

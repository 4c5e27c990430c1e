// nack_tracker: counts the nacks on one connection, and decides when opening another connection may help.
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
  std::size_t most = 1'000;  // maximum number of destinations that are remembered
  // If only nacks came for this long, for at least this many destinations, the broker is to blame.
  std::size_t many = 3;
  std::chrono::milliseconds all_refused{1'000};
  // If a destination was nacked for this long, its channel may be stale. The time doubles with each renewal,
  // and is reset after longest_renewal without a renewal.
  std::chrono::milliseconds first_renewal{500};
  std::chrono::milliseconds longest_renewal{60'000};
  // The maximum for a connection that has confirmed nothing: renewing such a connection harms no other
  // messages.
  std::chrono::milliseconds longest_of_useless{1'000};
};

// Pure. A channel may keep getting nacks although the queue has recovered. Observed in 3.10 with quorum
// queues: a channel that first publishes to a queue while the node of the queue's leader is down keeps asking
// that node (rabbit_fifo_client), even after another node has become leader; and RabbitMQ notifies a channel
// when a queue with overflow reject-publish accepts messages again, but not when a policy that set this
// overflow is removed. Only a new channel recovers.
class nack_tracker {
 public:
  explicit nack_tracker(const refusal_limits& limits = {}) : limits_(limits) {}

  // A new connection was opened.
  void on_up(clock::time_point now);

  void on_nacked(const destination& to, clock::time_point now);
  void on_acked(const destination& to);
  // True if something was confirmed on this connection.
  bool is_proven() const { return use_ == use::proven; }
  // True if the next ack would change the state.
  bool waits_for_ack() const { return use_ == use::unproven || !latest_.empty(); }

  // True if only nacks came, for several destinations, for `all_refused`: another node may accept messages.
  bool nothing_else(clock::time_point now) const;

  // True if the last nacked destination has been refused on this connection for long enough, or if the
  // connection has had no confirm for long enough.
  bool worth_renewing(clock::time_point now) const { return due_ && now >= *due_; }
  void on_renewal(clock::time_point now);

 private:
  enum class use : std::uint8_t {
    unproven,  // nothing was confirmed on this connection yet
    proven,
  };
  using key = std::pair<std::string, std::string>;
  struct times {
    clock::time_point first;  // time of the first nack on this connection
    clock::time_point last;
  };

  refusal_limits limits_;
  std::map<key, times> latest_;                   // nacks since the last ack of each destination
  std::optional<clock::time_point> alone_since_;  // time of the first nack after the last ack
  std::optional<clock::time_point> due_;          // when to renew because of the last nack
  std::chrono::milliseconds pause_ = limits_.first_renewal;
  std::optional<clock::time_point> renewed_at_;
  clock::time_point up_at_{};
  use use_ = use::unproven;
};

}  // namespace outboxd::flow

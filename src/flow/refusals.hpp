// refusals: what has been nacked on one connection, and when another connection is worth a try.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "flow/destinations.hpp"

namespace outboxd::flow {

struct refusal_limits {
  std::size_t most = 1'000;  // destinations that are remembered
  // Many destinations and nothing else are refused for so long: it is the broker.
  std::size_t many = 3;
  std::chrono::milliseconds all_refused{1'000};
  // One is refused for so long: it may be the channel. Doubled with each new connection that did not help.
  std::chrono::milliseconds first_renewal{10'000};
  std::chrono::milliseconds longest_renewal{60'000};
};

// Pure. A channel can stay refused when its queue is well again: RabbitMQ tells it once that a queue of the
// overflow behaviour reject-publish takes messages again, and does not tell it when a policy that had this
// behaviour is taken away (seen with 3.10 and quorum queues). Nobody but a new channel learns of it.
class refusals {
 public:
  explicit refusals(const refusal_limits& limits = {}) : limits_(limits) {}

  // A new connection.
  void on_up(clock::time_point now);

  void on_nacked(const destination& to, clock::time_point now);
  void on_acked(const destination& to);
  bool empty() const { return latest_.empty(); }

  // Nothing but refusals, of many destinations, for long enough: another node may do better.
  bool nothing_else(clock::time_point now) const;

  // What has just been nacked has been refused on this connection for long enough.
  bool worth_renewing(clock::time_point now) const { return due_ && now >= *due_; }
  void on_renewal();

 private:
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
};

}  // namespace outboxd::flow

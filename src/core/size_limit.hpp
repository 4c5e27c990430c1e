// size_limit: the largest body that the broker takes. The broker does not tell it before it refuses one.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "core/error.hpp"

namespace outboxd {

// All connections of a relay share one. It holds for the broker that they are connected to: a new connection
// may be to another broker, or to one that takes more since it was started again.
class size_limit {
 public:
  // `reply`: the code and the words of a channel.close. True when they tell a limit, in bytes (RabbitMQ 3.8
  // to 4.3: "406 PRECONDITION_FAILED - message size 17000000 is larger than configured max size 16777216").
  bool learn(std::string_view reply);
  void forget() { most_.reset(); }

  // An error is permanent and the event's own fault; it names the size and the limit.
  result<void> check(std::size_t body) const;

 private:
  std::optional<std::size_t> most_;  // bytes
};

}  // namespace outboxd

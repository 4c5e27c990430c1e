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
  void set(std::size_t bytes) { most_ = bytes; }
  void forget() { most_.reset(); }

  // An error is permanent and the event's own fault; it names the size and the limit.
  result<void> check(std::size_t body) const;

 private:
  std::optional<std::size_t> most_;  // bytes
};

}  // namespace outboxd

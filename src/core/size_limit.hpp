// size_limit: the largest body that the broker accepts. It is known only after the broker has refused a
// larger one.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "core/error.hpp"

namespace outboxd {

// All connections of a relay share one limit. The limit applies to the broker they are connected to: a new
// connection may reach another broker, or the same broker restarted with a higher limit.
class size_limit {
 public:
  void set(std::size_t bytes) { most_ = bytes; }
  void forget() { most_.reset(); }

  // An error is permanent and the event's own fault; the error names the size and the limit.
  result<void> check(std::size_t body) const;

 private:
  std::optional<std::size_t> most_;  // bytes
};

}  // namespace outboxd

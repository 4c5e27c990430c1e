#include "core/size_limit.hpp"

#include <fmt/format.h>

namespace outboxd {

result<void> size_limit::check(std::size_t body) const {
  if (!most_ || body <= *most_) return {};
  return permanent(fmt::format(
      "the body is {} bytes long; the broker takes {} (its max_message_size), and has refused more with 406"
      " PRECONDITION_FAILED",
      body, *most_));
}

}  // namespace outboxd

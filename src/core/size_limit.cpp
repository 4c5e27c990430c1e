#include "core/size_limit.hpp"

#include <fmt/format.h>

#include <charconv>

namespace outboxd {

bool size_limit::learn(std::string_view reply) {
  constexpr std::string_view beginning = "406 PRECONDITION_FAILED - message size ";
  constexpr std::string_view before_limit = " max size ";
  const auto at = reply.find(before_limit);
  if (!reply.starts_with(beginning) || at == std::string_view::npos) return false;
  const auto digits = reply.substr(at + before_limit.size());
  std::size_t most = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), most).ec != std::errc()) return false;
  most_ = most;
  return true;
}

result<void> size_limit::check(std::size_t body) const {
  if (!most_ || body <= *most_) return {};
  return permanent(fmt::format(
      "the body is {} bytes long; the broker takes {} (its max_message_size), and has refused more with 406"
      " PRECONDITION_FAILED",
      body, *most_));
}

}  // namespace outboxd

#include "amqp/refusal.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "core/text.hpp"

namespace outboxd::amqp {
namespace {

constexpr std::uint16_t content_too_large = 311;
constexpr std::uint16_t access_refused = 403;
constexpr std::uint16_t not_found = 404;
constexpr std::uint16_t precondition_failed = 406;

// RabbitMQ also answers 403 for an exchange to which nobody may publish (amq.rabbitmq.trace), and for a
// single routing key if users have topic permissions.
refused_part part_of(std::uint16_t reply_code, std::string_view text) {
  const auto has = [&](std::string_view words) { return text.find(words) != std::string_view::npos; };
  if (reply_code == not_found) return refused_part::exchange;
  if (reply_code != access_refused) return refused_part::message;
  if (has("internal exchange")) return refused_part::exchange;
  return has("topic '") ? refused_part::topic : refused_part::permission;
}

// Parses, for example, "PRECONDITION_FAILED - message size 17000000 is larger than configured max size
// 16777216".
std::optional<std::size_t> size_limit_in(std::uint16_t reply_code, std::string_view text) {
  constexpr std::string_view beginning = "PRECONDITION_FAILED - message size ";
  constexpr std::string_view before_limit = " max size ";
  const auto at = text.find(before_limit);
  if (reply_code != precondition_failed || !text.starts_with(beginning) || at == std::string_view::npos)
    return std::nullopt;
  const auto digits = text.substr(at + before_limit.size());
  std::size_t most = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), most).ec != std::errc())
    return std::nullopt;
  return most;
}

}  // namespace

bool is_about_a_message(std::uint16_t reply_code) {
  return reply_code == content_too_large || reply_code == access_refused || reply_code == not_found ||
         reply_code == precondition_failed;
}

bool is_a_fault(std::uint16_t reply_code) {
  constexpr std::uint16_t frame_error = 501;
  constexpr std::uint16_t unexpected_frame = 505;
  constexpr std::uint16_t not_implemented = 540;
  constexpr std::uint16_t internal_error = 541;
  return (reply_code >= frame_error && reply_code <= unexpected_frame) || reply_code == not_implemented ||
         reply_code == internal_error;
}

refusal refusal_of(std::uint16_t reply_code, std::string_view text) {
  return {.reason = fmt::format("{} {}", reply_code, printable(text)),
          .part = part_of(reply_code, text),
          .size_limit = size_limit_in(reply_code, text)};
}

}  // namespace outboxd::amqp

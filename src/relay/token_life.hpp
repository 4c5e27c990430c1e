// token_life: until when a password is valid that is a JSON Web Token (RFC 7519), and when to ask for the
// next one.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace outboxd::relay {

using wall_time = std::chrono::sys_seconds;

// The token's claim `exp`. Nothing for a password that is no such token, or for a token without an end. The
// signature is RabbitMQ's to verify.
std::optional<wall_time> end_of_token(std::string_view password);

// A minute before the end, because programs that print tokens may print the same one until shortly before its
// end; of a token with less than three minutes left, after two thirds of them.
wall_time renewal_of(wall_time now, wall_time end);

}  // namespace outboxd::relay

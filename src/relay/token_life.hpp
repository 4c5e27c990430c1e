// token_life: when a password that is a JSON Web Token (RFC 7519) expires, and when to request the next one.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace outboxd::relay {

using wall_time = std::chrono::sys_seconds;

// Returns the token's claim `exp`; nullopt if the password is not a JSON Web Token, or does not expire.
// RabbitMQ verifies the signature.
std::optional<wall_time> end_of_token(std::string_view password);

// Returns the time one minute before expiry, because programs that print tokens may print the same one until
// shortly before expiry. For a token with less than three minutes left, returns the time after two thirds of
// the remaining time.
wall_time renewal_of(wall_time now, wall_time end);

}  // namespace outboxd::relay

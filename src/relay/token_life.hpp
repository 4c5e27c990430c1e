// token_life: when a password that is a JSON Web Token (RFC 7519) expires, and when to request the next one.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace outboxd::relay {

using wall_time = std::chrono::sys_seconds;

// The token's claim `exp`. nullopt if the password is not such a token, or does not expire. RabbitMQ verifies
// the signature.
std::optional<wall_time> end_of_token(std::string_view password);

// One minute before expiry, because programs that print tokens may print the same one until shortly before;
// for a token with less than three minutes left, after two thirds of the remaining time.
wall_time renewal_of(wall_time now, wall_time end);

}  // namespace outboxd::relay

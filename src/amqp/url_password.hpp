// url_password: inserts a separate password into the URL.
#pragma once

#include <string>
#include <string_view>

#include "core/error.hpp"

namespace outboxd::amqp {

// True if the URL has a password, even an empty one.
bool has_password(std::string_view url);

// `url` must be accepted by parse_url and have no password. If it has no user, the user is guest.
std::string with_password(std::string_view url, std::string_view password);

}  // namespace outboxd::amqp

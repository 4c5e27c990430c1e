// url_password: puts a password that comes from elsewhere into the URL.
#pragma once

#include <string>
#include <string_view>

#include "core/error.hpp"

namespace outboxd::amqp {

// Does the URL have a password, even an empty one?
bool has_password(std::string_view url);

// `url` must suit parse_url and have no password. Without a user, it gets the user guest.
std::string with_password(std::string_view url, std::string_view password);

}  // namespace outboxd::amqp

// url_password: a password that does not stand in the URL, put into it.
#pragma once

#include <string>
#include <string_view>

#include "core/error.hpp"

namespace outboxd::amqp {

// Does the URL have a password, be it an empty one?
bool has_password(std::string_view url);

// `url` is one that parse_url takes, without a password. One without a user is of guest.
std::string with_password(std::string_view url, std::string_view password);

}  // namespace outboxd::amqp

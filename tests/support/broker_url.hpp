// broker_url: the tests' broker as another user, or in another vhost, would reach it.
#pragma once

#include <fmt/format.h>

#include <string>

#include "support/database.hpp"

namespace outboxd::test {

inline std::string amqp_url(const std::string& user, const std::string& password,
                            const std::string& vhost = "") {
  const auto admin = required_environment("OUTBOXD_AMQP_URL");
  const auto at = admin.find('@');
  return fmt::format("amqp://{}:{}{}/{}", user, password, admin.substr(at, admin.find('/', at) - at), vhost);
}

inline std::string password_of(const std::string& url) {
  const auto begin = url.find(':', url.find("://") + 3) + 1;
  return url.substr(begin, url.find('@') - begin);
}

inline std::string admin_password() {
  return password_of(required_environment("OUTBOXD_AMQP_URL"));
}

}  // namespace outboxd::test

// login: CREATE ROLE and DROP ROLE.
#include "login.hpp"

#include <unistd.h>

namespace outboxd::test {
namespace {

database server() {
  return database{required_environment("OUTBOXD_DATABASE_URL")};
}

}  // namespace

login::login(const std::string& role, const std::string& password) {
  static int counter = 0;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  name_ = fmt::format("login_{}_{}_{}", now.count(), ::getpid(), ++counter);
  server().exec(fmt::format("CREATE ROLE {} LOGIN PASSWORD '{}' {}", name_, password,
                            role.empty() ? "" : "IN ROLE " + role));
}

login::~login() {
  try {
    auto session = server();
    session.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", {name_});
    session.exec("DROP ROLE " + name_);
  } catch (const std::exception& error) {
    fmt::print(stderr, "role {} is left behind: {}\n", name_, error.what());
  }
}

void login::change_password(const std::string& password) const {
  server().exec(fmt::format("ALTER ROLE {} PASSWORD '{}'", name_, password));
}

std::string login::url(const stage& on, const std::string& password) const {
  const auto& admin = on.database_url();
  return fmt::format("postgresql://{}:{}{}", name_, password, admin.substr(admin.find('@')));
}

}  // namespace outboxd::test

#include "stage/setup.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>

#include "support/database.hpp"

namespace outboxd::bench {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

[[noreturn]] void refuse(const std::string& what) {
  throw std::runtime_error(
      fmt::format("{} is not the benchmarks' own. Let tools/bench start its own servers, or name yours with "
                  "--database-url and --amqp-url and add --yes-use-this-database: they get a heavy load, "
                  "in a database, queues and an exchange that are created and removed again.",
                  what));
}

}  // namespace

void require_own_servers(const setup& on) {
  // A directory used only by the benchmarks; tests and demo have their own.
  if (std::filesystem::path(variable("OUTBOXD_SERVICES_DIR")).filename() != "bench-services")
    refuse("The server");
  test::database session(on.database_url);
  if (session.value("SELECT current_setting('data_directory')") != variable("OUTBOXD_TEST_PGDATA"))
    refuse("The database");
  const auto port = variable("OUTBOXD_TEST_AMQP_PORT");
  if (port.empty() || !on.amqp_url.ends_with("@127.0.0.1:" + port)) refuse("The broker");
}

}  // namespace outboxd::bench

// migrated_template: made under a lock, and complete when it is marked as a template.
#include "migrated_template.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <functional>

#include "stage.hpp"

namespace outboxd::test {
namespace {

// Any number that no other lock of the server's maintenance database has.
constexpr auto making = "4711";

bool is_ready(database& server, const std::string& name) {
  return server.value("SELECT count(*) FROM pg_database WHERE datname = $1 AND datistemplate", {name}) == "1";
}

// A database that is a template cannot be dropped. A test that was killed leaves half a one, or one that it
// was about to drop: that is invalid, and cannot be altered.
void drop_all_like(database& server, const std::string& beginning) {
  for (const auto& row : server.exec(
           "SELECT datname, datistemplate FROM pg_database WHERE starts_with(datname, $1)", {beginning})) {
    if (row[1] == "t") server.exec(fmt::format("ALTER DATABASE {} IS_TEMPLATE false", *row[0]));
    server.exec(fmt::format("DROP DATABASE {} WITH (FORCE)", *row[0]));
  }
}

}  // namespace

std::string migrated_template(const std::string& payload) {
  const auto binary = outboxd_binary();
  // The SQL is in the program, and so is the code that runs it.
  // Only for a name: it is negative before the epoch of the file clock.
  const auto built =
      static_cast<std::uint64_t>(std::filesystem::last_write_time(binary).time_since_epoch().count());
  const auto of_this_path =
      fmt::format("outboxd_template_{:x}_{}_", std::hash<std::string>{}(binary), payload);
  const auto name = fmt::format("{}{:x}", of_this_path, built);
  const auto url = required_environment("OUTBOXD_DATABASE_URL");
  database server{url};
  if (is_ready(server, name)) return name;
  server.exec(fmt::format("SELECT pg_advisory_lock({})", making));
  if (is_ready(server, name)) return name;
  drop_all_like(server, of_this_path);
  server.exec("CREATE DATABASE " + name);
  const auto done =
      run_outboxd({"migrate", "--payload", payload}, {{"OUTBOXD_DATABASE_URL", with_database(url, name)}});
  REQUIRE_MESSAGE(done.exited(0), done.text());
  server.exec(fmt::format("ALTER DATABASE {} IS_TEMPLATE true ALLOW_CONNECTIONS false", name));
  return name;
}

}  // namespace outboxd::test

// A connection to PostgreSQL that the network can read is named in the log.
#include <doctest/doctest.h>

#include <algorithm>

#include "stage.hpp"

namespace outboxd::test::open_network_test {
namespace {

long warnings_with(const stage& on, const std::string& url) {
  relay running{on, {"--database-url", url}};
  running.await_connected();
  // Each of its sessions comes back: that is no news.
  const auto from = running.lines().size();
  on.connect().exec(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
      " WHERE application_name LIKE 'outboxd % on %' AND datname = current_database()");
  running.wait_line("connected to PostgreSQL", time_limit, from);
  running.stop();
  const auto lines = running.lines();
  return std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find("read events and change them; set database.url: sslmode=verify-full") !=
           std::string::npos;
  });
}

}  // namespace

// 0.0.0.0 is this machine to the kernel, and any other to outboxd.
TEST_CASE("run warns once of a remote PostgreSQL without TLS, and never of a local one") {
  const stage on;
  auto elsewhere = on.database_url();
  const std::string_view here = "@127.0.0.1:";
  const auto host = elsewhere.find(here);
  REQUIRE(host != std::string::npos);
  elsewhere.replace(host, here.size(), "@0.0.0.0:");
  CHECK(warnings_with(on, elsewhere) == 1);
  CHECK(warnings_with(on, on.database_url()) == 0);
}

}  // namespace outboxd::test::open_network_test

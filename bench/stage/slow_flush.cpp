#include "stage/slow_flush.hpp"

#include <fmt/format.h>

#include <map>
#include <stdexcept>
#include <vector>

#include "report/figures.hpp"
#include "support/database.hpp"
#include "support/process.hpp"

namespace outboxd::bench {
namespace {

namespace fs = std::filesystem;
using clock = std::chrono::steady_clock;
using variables = std::map<std::string, std::string>;

void pg_ctl(const std::vector<std::string>& words, const variables& environment = {}) {
  using namespace std::chrono_literals;
  test::process control({.program = test::required_environment("OUTBOXD_TEST_PGCTL"),
                         .arguments = words,
                         .environment = environment,
                         .log_file = {}});
  if (control.wait(120s) != test::exit_status{.code = 0, .signal = {}})
    throw std::runtime_error("pg_ctl failed: " + control.tail());
}

void restart(const variables& environment) {
  pg_ctl({"-w", "-m", "fast", "-s", "stop"});
  pg_ctl({"-w", "-s", "start"}, environment);
}

// Copied to a place that the server's user can read, which may not be true of the checkout.
fs::path place_library(const setup& on) {
  const auto target =
      fs::path(test::required_environment("OUTBOXD_TEST_PGDATA")).parent_path() / "slow_flush.so";
  fs::copy_file(on.program("slow_flush.so"), target, fs::copy_options::overwrite_existing);
  fs::permissions(target, fs::perms::owner_all | fs::perms::group_read | fs::perms::others_read);
  return target;
}

}  // namespace

slow_flush::slow_flush(const setup& on, std::chrono::microseconds at_least) {
  if (!on.own_servers) throw std::runtime_error("a server that is not our own is not restarted");
  restart({{"LD_PRELOAD", place_library(on).string()},
           {"OUTBOXD_BENCH_FLUSH_US", std::to_string(at_least.count())}});
}

slow_flush::~slow_flush() {
  try {
    restart({});
  } catch (const std::exception& failed) {
    fmt::print(stderr, "the benchmarks' PostgreSQL is left with slow flushes: {}\n", failed.what());
  }
}

double commit_milliseconds(const setup& on) {
  const test::fresh_database database(on.database_url);
  auto session = database.connect();
  session.exec("CREATE TABLE one (n integer)");
  std::vector<double> all;
  for (int i = 0; i < 51; ++i) {
    const auto began = clock::now();
    session.exec("INSERT INTO one VALUES (1)");
    all.push_back(std::chrono::duration<double, std::milli>(clock::now() - began).count());
  }
  return spread_of(all).median;
}

}  // namespace outboxd::bench

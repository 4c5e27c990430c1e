// session_checks: the settings of a relay's PostgreSQL session, and the server's clock.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "app/check/checks.hpp"

namespace outboxd::app::check {
namespace {

using namespace std::chrono_literals;

// A relay sets most of these settings itself, but only with its first statements; it must live with the
// others.
constexpr std::array hurtful{"statement_timeout",
                             "lock_timeout",
                             "idle_in_transaction_session_timeout",
                             "idle_session_timeout",
                             "transaction_timeout",
                             "default_transaction_isolation",
                             "default_transaction_read_only",
                             "session_replication_role",
                             "search_path"};

constexpr std::int64_t too_soon = 1'000;  // ms; a login over a network, and its first statements

std::string setting_remedy(const server_setting& one, const context::knowledge& known) {
  const auto user = sql_name(known.user);
  const auto database = sql_name(known.database);
  if (one.source == "user") return fmt::format("ALTER ROLE {} RESET {};", user, one.name);
  if (one.source == "database") return fmt::format("ALTER DATABASE {} RESET {};", database, one.name);
  if (one.source == "database user")
    return fmt::format("ALTER ROLE {} IN DATABASE {} RESET {};", user, database, one.name);
  if (one.source == "client")
    return fmt::format("take {} out of the options in database.url or PGOPTIONS", one.name);
  return fmt::format("ALTER ROLE {} SET {} = '{}';", user, one.name, one.fallback);
}

bool is_timeout(std::string_view name) {
  return name.ends_with("_timeout");
}

// The clock's offset, measured by one round trip, and its maximum error.
struct reading {
  double offset;
  double error;
};

result<reading> read_clock(context& of) {
  const auto seconds = [](std::chrono::system_clock::time_point at) {
    return std::chrono::duration<double>(at.time_since_epoch()).count();
  };
  const double before = seconds(std::chrono::system_clock::now());
  const auto theirs = of.ask("SELECT extract(epoch FROM clock_timestamp())");
  const double after = seconds(std::chrono::system_clock::now());
  if (!theirs) return tl::make_unexpected(theirs.error());
  return reading{std::strtod(std::string(theirs->at(0, 0)).c_str(), nullptr) - (before + after) / 2,
                 std::abs(after - before) / 2};
}

}  // namespace

finding check_relay_session(context& of) {
  if (of.known.failed) return not_checked("not opened, for the reason above");
  const auto opened = of.open_as_relay();
  if (!opened) return failure(opened.error().message, "outboxd run --log-level debug  # says the same");
  return ok("opens, and accepts a relay's statements");
}

finding check_settings(context& of) {
  std::vector<std::string> harmless;
  for (const server_setting& one : of.known.settings) {
    if (std::find(hurtful.begin(), hurtful.end(), one.name) == hurtful.end()) continue;
    const auto said = fmt::format("{} = {} ({})", one.name, one.value, one.source);
    if (is_timeout(one.name) && std::atoll(one.base.c_str()) < too_soon)
      return warning(fmt::format("{} may end a session before a relay has set its own", said),
                     setting_remedy(one, of.known));
    if (one.name == "default_transaction_read_only") continue;  // see writable.sql
    if (of.known.opened_as_relay) {
      const auto own = of.ask(of.as_relay(), fmt::format("SELECT current_setting('{}')", one.name));
      if (!own) return not_checked(own.error().message);
      if (own->at(0, 0) == one.value && one.name != "session_replication_role")
        return warning(fmt::format("{} applies to relays, too", said), setting_remedy(one, of.known));
    }
    harmless.push_back(said);
  }
  if (harmless.empty()) return ok("none that matters to a relay");
  return ok(fmt::format("{}: a relay overrides it, or is not affected", fmt::join(harmless, ", ")));
}

finding check_clock(context& of) {
  std::optional<reading> best;
  for (int i = 0; i < 3; ++i) {
    const auto one = read_clock(of);
    if (!one) return not_checked(one.error().message);
    if (!best || one->error < best->error) best = *one;
  }
  return judge_clock(std::chrono::duration<double>(best->offset), std::chrono::duration<double>(best->error));
}

finding judge_clock(std::chrono::duration<double> offset, std::chrono::duration<double> error) {
  const auto words =
      fmt::format("PostgreSQL's clock is {:.3f} s {} this machine's (to within {:.3f} s)",
                  std::abs(offset.count()), offset.count() < 0 ? "behind" : "ahead of", error.count());
  if (std::chrono::duration<double>(std::abs(offset.count())) - error <= 1s) return ok(words);
  return warning(words + "; ages of events would be wrong by that",
                 "timedatectl set-ntp true  # on both machines");
}

}  // namespace outboxd::app::check

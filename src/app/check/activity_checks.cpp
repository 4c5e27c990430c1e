// activity_checks: what else goes on in PostgreSQL at this moment: connections, locks that are in the way,
// old snapshots.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "app/check/checks.hpp"
#include "relay/lock_holders.hpp"

namespace outboxd::app::check {
namespace {

using namespace std::chrono_literals;

std::int64_t number(const pg::rows& of, int column) {
  return std::atoll(std::string(of.at(0, column)).c_str());
}

boost::asio::awaitable<bool> pause(pg::connection& link, std::chrono::milliseconds how_long) {
  const auto until = std::chrono::steady_clock::now() + how_long;
  while (!link.lost() && std::chrono::steady_clock::now() < until) {
    link.take_notifications();
    co_await link.wait_until(until);
  }
  co_return true;
}

}  // namespace

// Sessions of relays that run already are not counted: they would be those that are asked for.
finding check_connections(context& of) {
  const auto found = of.ask(
      "SELECT current_setting('max_connections')::int - "
      "current_setting('superuser_reserved_connections')::int"
      "         - coalesce(current_setting('reserved_connections', true)::int, 0)"
      "         - (SELECT sum(d.numbackends) FROM pg_stat_database AS d) + own.sessions,"
      "       CASE WHEN r.rolconnlimit < 0 THEN 2147483647 ELSE r.rolconnlimit END"
      "         - (SELECT count(*) FROM pg_stat_activity AS a WHERE a.usesysid = r.oid) + own.sessions,"
      "       CASE WHEN d.datconnlimit < 0 THEN 2147483647 ELSE d.datconnlimit END"
      "         - pg_stat_get_db_numbackends(d.oid) + own.sessions"
      " FROM pg_roles AS r CROSS JOIN pg_database AS d CROSS JOIN (SELECT count(*) AS sessions FROM "
      "pg_stat_activity AS a"
      "   WHERE a.datname = current_database() AND a.usename = current_user AND a.application_name LIKE "
      "'outboxd%') AS own"
      " WHERE r.rolname = current_user AND d.datname = current_database()");
  if (!found || found->size() == 0)
    return not_checked(found ? "PostgreSQL shows nothing about them" : found.error().message);
  std::int64_t shards = 1;
  if (of.known.has_outbox)
    if (const auto rows = of.ask(fmt::format("SELECT count(*) FROM {}.shard", of.schema())))
      shards = number(*rows, 0);
  // Two for each shard, and for the first one the pruner's and the sampler's.
  const auto needed = 2 * shards + 1 + (of.configured().relay.samples_table ? 1 : 0);
  struct limit {
    int column;
    std::string whose;
    std::string remedy;
  };
  const std::array limits{
      limit{0, "the server", "ALTER SYSTEM SET max_connections = ...;  -- and restart PostgreSQL"},
      limit{1, fmt::format("user {}", of.known.user),
            fmt::format("ALTER ROLE {} CONNECTION LIMIT -1;", sql_name(of.known.user))},
      limit{2, fmt::format("database {}", of.known.database),
            fmt::format("ALTER DATABASE {} CONNECTION LIMIT -1;", sql_name(of.known.database))}};
  for (const limit& one : limits)
    if (number(*found, one.column) < needed)
      return warning(
          fmt::format("{} has {} connections left for relays; a relay that leads all shards needs {}",
                      one.whose, number(*found, one.column), needed),
          one.remedy);
  return ok(fmt::format("{} left; a relay that leads all shards needs {}", number(*found, 0), needed));
}

// What is there at two looks, a second apart.
finding check_locks(context& of) {
  if (!of.known.opened_as_relay) return not_checked("no session could be opened as a relay does");
  const auto look = [&] {
    return wait_for(
        of.io(), relay::lock_holders_now(of.as_relay(), of.database().schema, of.database().claim_timeout));
  };
  const auto first = look();
  if (!first) return not_checked(first.error().message);
  if (first->empty()) return ok("no other session's locks are in the way");
  wait_for(of.io(), pause(of.as_relay(), 1s));
  const auto second = look();
  if (!second) return not_checked(second.error().message);
  for (const relay::lock_holder& one : *second) {
    if (std::none_of(first->begin(), first->end(), [&](const auto& before) { return before.pid == one.pid; }))
      continue;
    return failure(one.words, one.pid == 0
                                  ? "SELECT gid FROM pg_prepared_xacts;  -- then ROLLBACK PREPARED 'gid';"
                                  : fmt::format("SELECT pg_terminate_backend({});", one.pid));
  }
  return ok("no other session's locks are in the way for long");
}

finding check_snapshots(context& of) {
  const auto session = of.ask(
      "SELECT extract(epoch FROM clock_timestamp() - a.xact_start)::bigint, a.pid, coalesce(a.usename, '?'),"
      "       coalesce(a.application_name, '')"
      " FROM pg_stat_activity AS a"
      " WHERE (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL) AND a.pid <> pg_backend_pid()"
      "   AND (a.datname = current_database() OR a.datname IS NULL) AND a.xact_start IS NOT NULL"
      " ORDER BY a.xact_start LIMIT 1");
  const auto prepared = of.ask(
      "SELECT extract(epoch FROM clock_timestamp() - p.prepared)::bigint, quote_literal(p.gid) FROM "
      "pg_prepared_xacts AS p"
      " WHERE p.database = current_database() ORDER BY p.prepared LIMIT 1");
  const auto slot = of.ask(
      "SELECT age(s.xmin), quote_literal(s.slot_name) FROM pg_replication_slots AS s"
      " WHERE s.xmin IS NOT NULL AND NOT s.active ORDER BY 1 DESC LIMIT 1");
  const auto sees = of.ask("SELECT pg_has_role('pg_read_all_stats', 'USAGE')");
  if (!session || !prepared || !slot || !sees)
    return not_checked("PostgreSQL does not show which sessions hold snapshots");
  snapshot_holders held;
  const auto text = [](const pg::rows& rows, int column) { return std::string(rows.at(0, column)); };
  if (session->size() > 0)
    held.open = {std::chrono::seconds(number(*session, 0)), text(*session, 1), text(*session, 2),
                 text(*session, 3)};
  if (prepared->size() > 0) held.prepared = {std::chrono::seconds(number(*prepared, 0)), text(*prepared, 1)};
  if (slot->size() > 0) held.slot = {text(*slot, 0), text(*slot, 1)};
  if (auto bad = judge_snapshots(held)) return std::move(*bad);
  if (sees->at(0, 0) == "f")
    return ok(
        fmt::format("none that holds back vacuum for an hour, of sessions that {} may see (others: GRANT "
                    "pg_read_all_stats TO {})",
                    of.known.user, sql_name(of.known.user)));
  return ok("none that holds back vacuum for an hour");
}

std::optional<finding> judge_snapshots(const snapshot_holders& held) {
  constexpr auto long_ago = 1h;
  const auto minutes = [](std::chrono::seconds age) {
    return std::chrono::floor<std::chrono::minutes>(age).count();
  };
  if (held.prepared && held.prepared->age > long_ago)
    return warning(fmt::format("transaction {} was prepared {} min ago, and holds back vacuum",
                               held.prepared->id, minutes(held.prepared->age)),
                   fmt::format("ROLLBACK PREPARED {};", held.prepared->id));
  if (held.open && held.open->age > long_ago)
    return warning(
        fmt::format(
            "pid {} (user {}, application {}) has been in a transaction for {} min, and holds back vacuum",
            held.open->pid, held.open->user, held.open->application, minutes(held.open->age)),
        fmt::format("SELECT pg_terminate_backend({});", held.open->pid));
  if (held.slot)
    return warning(fmt::format("replication slot {} is unused, and holds back vacuum by {} transactions",
                               held.slot->name, held.slot->transactions),
                   fmt::format("SELECT pg_drop_replication_slot({});", held.slot->name));
  return std::nullopt;
}

}  // namespace outboxd::app::check

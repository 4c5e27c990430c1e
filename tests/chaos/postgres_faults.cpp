// postgres_faults: faults of PostgreSQL and of the outbox.
#include <fmt/format.h>

#include "injector.hpp"
#include "support/database.hpp"
#include "support/servers.hpp"

namespace outboxd::chaos {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr auto lock_not_available = "55P03";
constexpr auto queue_full = "54000";

// The CTE is MATERIALIZED, because PostgreSQL might otherwise call the function for every session of the
// server.
std::size_t end_sessions(scene& on, database& session) {
  return session
      .exec(
          "WITH theirs AS MATERIALIZED (SELECT pid FROM pg_stat_activity WHERE usename = $1)"
          " SELECT pid FROM theirs WHERE pg_terminate_backend(pid)",
          {on.all.where.user()})
      .size();
}

void terminate(scene& on) {
  auto session = on.all.where.connect();
  std::size_t ended = 0;
  on.await([&] { return (ended = end_sessions(on, session)) > 0; });
  if (ended > 0) on.saw(fmt::format("{} sessions ended", ended));
}

void restart_postgres(scene& on, const std::vector<std::string>& how) {
  const auto begin = [&] { return on.all.where.connect().value("SELECT pg_postmaster_start_time()"); };
  const auto before = begin();
  restart_server(how);
  const auto after = begin();
  if (before != after) on.saw("started at " + after);
}

void make_read_only(scene& on) {
  auto session = on.all.where.connect();
  session.exec("SET default_transaction_read_only = off");
  session.exec("ALTER SYSTEM SET default_transaction_read_only = on");
  session.exec("SELECT pg_reload_conf()");
  const auto refused = [&] {
    try {
      on.all.where.connect().exec("UPDATE outbox.event SET attempts = attempts WHERE false");
      return false;
    } catch (const database_error& error) {
      return error.sqlstate == "25006";
    }
  };
  if (on.await(refused)) on.saw("writes are refused with 25006");
  on.hold();
  session.exec("ALTER SYSTEM RESET default_transaction_read_only");
  session.exec("SELECT pg_reload_conf()");
}

void forge_notifications(scene& on) {
  auto session = on.all.where.connect();
  try {
    session.exec("SELECT pg_notify('outbox', 'forged ' || n) FROM generate_series(1, 20000) AS n");
    for (int i = 0; i < 200; ++i) session.exec("NOTIFY outbox, '{\"forged\": true}'");
    on.saw("20,200 notifications");
  } catch (const database_error& error) {
    if (error.sqlstate != queue_full) throw;
    on.saw("as many notifications as there was room for");
  }
}

/// As the documentation recommends: wait for the lock only briefly, and retry.
bool with_lock(scene& on, database& session, const std::string& statement) {
  session.exec("SET lock_timeout = '300ms'");
  return on.await(
      [&] {
        try {
          session.exec(statement);
          return true;
        } catch (const database_error& error) {
          if (error.sqlstate != lock_not_available) throw;
          session.exec("ROLLBACK");
          return false;
        }
      },
      20s);
}

void lose_notifications(scene& on) {
  auto session = on.all.where.connect();
  on.all.where.set_doorbell(false);
  const auto before = session.number("SELECT coalesce(max(seq), 0) FROM outbox.event");
  on.hold();
  const auto silent =
      session.number("SELECT count(*) FROM outbox.event WHERE seq > $1", {std::to_string(before)});
  if (silent > 0) on.saw(fmt::format("{} events without a notification", silent));
  on.all.where.set_doorbell(true);
}

void hold_snapshot(scene& on) {
  auto session = on.all.where.connect();
  session.exec("BEGIN ISOLATION LEVEL REPEATABLE READ");
  session.exec("SELECT FROM outbox.event LIMIT 1");
  on.hold();
  auto other = on.all.where.connect();
  const auto held = other.value("SELECT backend_xmin IS NOT NULL FROM pg_stat_activity WHERE pid = $1",
                                {std::to_string(session.backend_pid())});
  if (held == "t") on.saw("its xmin was held");
  session.exec("COMMIT");
}

void lock_table(scene& on) {
  auto session = on.all.where.connect();
  if (!with_lock(on, session, "BEGIN; LOCK TABLE outbox.event IN ACCESS EXCLUSIVE MODE"))
    return on.saw_nothing("the table's lock was not to be had");
  on.hold();
  const auto waiting = on.all.where.connect().number("SELECT count(*) FROM pg_locks WHERE NOT granted");
  on.saw(fmt::format("{} sessions waited", waiting));
  session.exec("COMMIT");
}

void change_database_password(scene& on) {
  constexpr auto words = "password authentication failed";
  const auto before = on.all.lines_with(words);
  on.all.where.change_database_password();
  auto session = on.all.where.connect();
  const auto ended = end_sessions(on, session);
  on.hold();
  if (on.await([&] { return on.all.lines_with(words) > before; }, 10s))
    on.saw(fmt::format("{} sessions ended, and refused afterwards", ended));
  for (const auto& one : on.all.relays) one->write_secrets();
}

constexpr act postgres_acts[]{
    {fault::backends_terminated, terminate},
    {fault::postgres_restarted, [](scene& on) { restart_postgres(on, {"postgres"}); }},
    {fault::postgres_crashed,
     [](scene& on) {
       restart_postgres(on, {"postgres", "--immediate"});
     }},
    {fault::read_only, make_read_only},
    {fault::notifications_forged, forge_notifications},
    {fault::notifications_lost, lose_notifications},
    {fault::snapshot_held, hold_snapshot},
    {fault::table_locked, lock_table},
    {fault::database_password, change_database_password},
};

}  // namespace

void postgres_fault(scene& on) {
  play(on, postgres_acts);
}

}  // namespace outboxd::chaos

// neighbour_faults: effects of other programs on the PostgreSQL server, and manual changes of the outbox.
#include <fmt/format.h>

#include "injector.hpp"
#include "support/database.hpp"

namespace outboxd::chaos {
namespace {

using namespace std::chrono_literals;
using namespace test;

void burn_xids(scene& on) {
  auto session = on.all.where.connect();
  const auto latest = [&] { return session.number("SELECT pg_snapshot_xmax(pg_current_snapshot())::text"); };
  const auto before = latest();
  session.exec("DO $$ BEGIN FOR i IN 1..30000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$");
  on.saw(fmt::format("{} transactions without an event", latest() - before));
}

// Takes all entries of the server's lock table, and those that become free meanwhile. All transactions that
// need an entry fail (53200).
void fill_lock_table(scene& on) {
  auto session = on.all.where.connect();
  session.exec("BEGIN");
  std::int64_t taken = 0;
  const auto take = [&](std::int64_t more) {
    session.exec("SAVEPOINT before");
    try {
      session.exec(fmt::format("SELECT pg_advisory_xact_lock(7, n) FROM generate_series({}, {}) AS n",
                               taken + 1, taken + more));
      session.exec("RELEASE SAVEPOINT before");
      taken += more;
      return true;
    } catch (const database_error& error) {
      if (error.sqlstate != "53200") throw;
      session.exec("ROLLBACK TO SAVEPOINT before");
      return false;
    }
  };
  for (std::int64_t step = 1'000; step > 0 && !on.stopping();)
    if (!take(step)) step /= 2;
  const auto until = std::chrono::steady_clock::now() + on.plan.lasts;
  while (std::chrono::steady_clock::now() < until && !on.stopping()) {
    take(1);
    on.hold(5ms);
  }
  session.exec("ROLLBACK");
  on.saw(fmt::format("{} locks", taken));
}

// Only PostgreSQL 17 and newer have a notification queue that can be made small enough.
void fill_notify_queue(scene& on) {
  constexpr std::int64_t most_pages = 1'000;
  auto listener = on.all.where.connect();
  const auto pages =
      listener.number("SELECT coalesce(current_setting('max_notify_queue_pages', true), '1048576')");
  if (pages > most_pages) return on.pass(fmt::format("the server's queue has {} pages", pages));
  auto flood = on.all.where.connect();
  listener.exec("LISTEN chaos_flood");
  listener.exec("BEGIN");
  listener.exec("SELECT 1");
  const auto usage = [&] { return flood.number("SELECT (1000 * pg_notification_queue_usage())::bigint"); };
  bool full = false;
  while (!full && !on.stopping()) try {
      flood.exec("SELECT pg_notify('chaos_flood', repeat('x', 7000) || n) FROM generate_series(1, 20) AS n");
    } catch (const database_error& error) {
      full = error.sqlstate == "54000";
      if (!full) throw;
    }
  on.hold();
  const auto filled = usage();
  listener.exec("COMMIT");
  on.saw(fmt::format("full to {} of 1000", filled));
}

// All commits wait for it, except those of the relays.
void lose_standby(scene& on) {
  auto session = on.all.where.connect();
  session.exec("ALTER SYSTEM SET synchronous_standby_names = 'gone'");
  session.exec("SELECT pg_reload_conf()");
  const auto waiting = [&](const char* whose) {
    return session.number(
        fmt::format("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND usename {} $1",
                    whose),
        {on.all.where.user()});
  };
  const bool seen = on.await([&] { return waiting("<>") > 0; });
  on.hold();
  const auto relays = waiting("=");
  session.exec("ALTER SYSTEM RESET synchronous_standby_names");
  session.exec("SELECT pg_reload_conf()");
  if (relays > 0)
    on.saw_nothing(fmt::format("{} sessions of relays waited for it", relays));
  else if (seen)
    on.saw("writers waited for it");
}

// Like a clean-up of test data, or a restore without the table.
void delete_shard_rows(scene& on) {
  auto session = on.all.where.connect();
  const auto gone =
      session.exec("DELETE FROM outbox.shard WHERE $1::bigint % 2 = 0 OR shard = 0 RETURNING shard",
                   {std::to_string(on.plan.at.count())});
  on.saw(fmt::format("{} of {} rows deleted", gone.size(), on.all.where.shards()));
}

// Like a switch-over by logical replication. Order among events with such numbers is not guaranteed.
void set_sequence_back(scene& on) {
  if (on.all.where.partitioned()) return on.pass("of a partitioned outbox each partition has its numbers");
  auto session = on.all.where.connect();
  const auto sequence = session.value("SELECT pg_get_serial_sequence('outbox.event', 'seq')");
  const auto back = 10 + on.plan.at.count() % 500;
  const auto top = session.number(fmt::format("SELECT last_value FROM {}", sequence));
  const auto now = session.number(
      fmt::format("SELECT setval('{0}', greatest(1, last_value - {1})) FROM {0}", sequence, back));
  // Open transactions have higher values.
  on.all.where.note_unordered(
      now,
      session.number("SELECT greatest(max(seq), $1::bigint) + 200 FROM outbox.event", {std::to_string(top)}));
  on.saw(fmt::format("from {} to {}", top, now));
}

// Repeatedly changes some of the unsent events, some of which a relay has already read.
void change_pending(scene& on, const std::string& how) {
  auto session = on.all.where.connect();
  std::size_t changed = 0;
  const auto change = [&] {
    session.exec("BEGIN");
    const auto rows = session.exec(
        fmt::format("UPDATE outbox.event AS e SET {} FROM (SELECT p.id, p.seq FROM outbox.event AS p"
                    " WHERE p.status = 'pending' AND p.headers ? 'note' LIMIT 30 FOR UPDATE SKIP LOCKED) AS k"
                    " WHERE e.id = k.id AND e.seq = k.seq RETURNING e.id",
                    how));
    for (const auto& row : rows) on.all.where.note_changed(*row[0]);
    session.exec("COMMIT");
    changed += rows.size();
  };
  for (const auto end = std::chrono::steady_clock::now() + on.plan.lasts;
       !on.stopping() && std::chrono::steady_clock::now() < end; on.hold(20ms))
    change();
  if (changed > 0)
    on.saw(fmt::format("{} events changed", changed));
  else
    on.pass("nothing was pending");
}

void correct_rows(scene& on) {
  change_pending(on, fmt::format("headers = headers || '{{\"corrected\": {}}}'", on.plan.at.count()));
}

void put_rows_off(scene& on) {
  change_pending(on, "available_at = clock_timestamp() + interval '1 s'");
}

constexpr act neighbour_acts[]{{fault::xids_burnt, burn_xids},
                               {fault::lock_table_full, fill_lock_table},
                               {fault::notify_queue_full, fill_notify_queue},
                               {fault::standby_gone, lose_standby}};

constexpr act hand_acts[]{{fault::shard_rows_deleted, delete_shard_rows},
                          {fault::sequence_set_back, set_sequence_back},
                          {fault::rows_corrected, correct_rows},
                          {fault::rows_put_off, put_rows_off}};

// A simultaneous fault of PostgreSQL may end this session.
void play_beside_others(scene& on, std::span<const act> acts) {
  try {
    play(on, acts);
  } catch (const database_error& error) {
    on.saw_nothing(error.what());
  }
}

}  // namespace

void neighbour_fault(scene& on) {
  play_beside_others(on, neighbour_acts);
}

void hand_fault(scene& on) {
  play_beside_others(on, hand_acts);
}

}  // namespace outboxd::chaos

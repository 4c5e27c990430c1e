// settle: the waits are bounded by progress, not by the clock alone.
#include "settle.hpp"

#include <fmt/format.h>

#include "monitor.hpp"
#include "support/broker_admin.hpp"
#include "support/eventually.hpp"

namespace outboxd::chaos {
namespace {

using namespace std::chrono_literals;
using namespace test;
using clock = std::chrono::steady_clock;

// Reconnecting (connect_timeout 10 s and a pause of 3 s), claim_timeout 4 s, a sweep, the retries of bad
// events: less than 30 s in total. A busy machine may take several times as long.
constexpr auto standstill = 120s;
constexpr auto stop_limit = 120s;

// Odd rows that are scheduled for `infinity` stay.
constexpr auto in_time = " status IN ('pending', 'waiting') AND available_at < now() + interval '1 year'";

constexpr auto relay_sessions =
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = $1";
constexpr auto idle_claims =
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in "
    "transaction%'";
constexpr auto advisory_locks =
    "SELECT count(*) FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database"
    " WHERE d.datname = current_database() AND l.locktype = 'advisory'";

std::string left_after(const std::string& what, std::chrono::milliseconds limit,
                       const std::function<std::int64_t()>& count) {
  try {
    eventually(
        what, [&] { return count() == 0; }, limit);
    return {};
  } catch (const deadline_passed&) {
    return fmt::format("{} {} are left after all relays have stopped", count(), what);
  }
}

std::int64_t broker_connections(const arena& where) {
  const auto users = told_of_connections("user");
  std::int64_t count = 0;
  for (auto at = users.find(where.user()); at != std::string::npos; at = users.find(where.user(), at + 1))
    ++count;
  return count;
}

}  // namespace

void heal_all(surroundings& all) {
  all.where.heal();
  all.records.resume();
  for (const auto& one : all.relays) {
    one->write_secrets();
    one->link(server::postgres).heal();
    one->link(server::rabbitmq).heal();
    one->thaw();
    if (one->is_guest())
      one->stop(stop_limit);
    else
      one->start();  // no effect if it is running
  }
}

drained await_drained(surroundings& all, const std::function<bool()>& interrupted) {
  auto session = all.where.connect();
  const auto backlog = [&] {
    return static_cast<std::size_t>(
        session.number(fmt::format("SELECT count(*) FROM outbox.event WHERE{}", in_time)));
  };
  const auto attempts = [&] {
    return session.number(
        fmt::format("SELECT coalesce(sum(attempts), 0) FROM outbox.event WHERE{}", in_time));
  };
  const auto began = clock::now();
  auto left = backlog();
  drained out{.took = 0ms, .backlog = left, .violations = {}};
  auto tried = attempts();
  auto moved = began;
  while (left > 0 && !interrupted()) {
    std::this_thread::sleep_for(50ms);
    const auto now_left = backlog();
    const auto now_tried = attempts();
    if (now_left < left || now_tried > tried) moved = clock::now();
    left = now_left;
    tried = now_tried;
    if (clock::now() - moved > standstill) {
      out.violations.push_back(fmt::format("after healing {} events stay, and nothing has moved for {} s",
                                           left, standstill.count()));
      for (const auto& row :
           session.exec(fmt::format("SELECT id, status, attempts, exception, last_error FROM outbox.event"
                                    " WHERE{} ORDER BY seq LIMIT 5",
                                    in_time)))
        out.violations.push_back(fmt::format("  event {} {} attempts={} exception={} last_error={}", *row[0],
                                             *row[1], *row[2], row[3].value_or("-"), row[4].value_or("-")));
      break;
    }
  }
  out.took = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - began);
  return out;
}

std::vector<std::string> check_footprints(surroundings& all, int shards, const std::vector<footprint>& before,
                                          std::string& words) {
  // A leader has two PostgreSQL sessions for each shard, and this relay may not have led any shard at the
  // beginning.
  const std::size_t spare_descriptors = 1 + 2 * static_cast<std::size_t>(shards);
  constexpr std::size_t spare_memory_kb = 64 * 1024;
  std::vector<std::string> violations;
  for (std::size_t i = 0; i < before.size(); ++i) {
    auto& one = *all.relays[i];
    // A connection may be closing at this moment.
    footprint now;
    try {
      eventually(
          "descriptors are as many as before",
          [&] {
            now = one.now();
            return now.descriptors <= before[i].descriptors + spare_descriptors;
          },
          60s);
    } catch (const deadline_passed&) {
      violations.push_back(fmt::format("relay {} has {} descriptors, {} at the begin", one.number(),
                                       now.descriptors, before[i].descriptors));
    }
    if (now.resident_kb > before[i].resident_kb + spare_memory_kb)
      violations.push_back(fmt::format("relay {} has {} kB of memory, {} at the begin", one.number(),
                                       now.resident_kb, before[i].resident_kb));
    words += fmt::format("{}relay {}: {} descriptors ({} at the begin), {} MB ({})", i == 0 ? "" : "; ",
                         one.number(), now.descriptors, before[i].descriptors, now.resident_kb / 1024,
                         before[i].resident_kb / 1024);
  }
  return violations;
}

std::vector<std::string> stop_all(surroundings& all) {
  std::vector<std::string> violations;
  for (const auto& one : all.relays) {
    one->stop(stop_limit);
    for (const auto& end : one->deaths()) {
      if (end.overdue)
        violations.push_back(fmt::format("relay {}, life {}, did not stop on SIGTERM within {} s:\n{}",
                                         one->number(), end.life, stop_limit.count(), end.last_words));
      // A relay that was never connected may have been permanently refused at the same moment.
      if (!end.asked || !end.status.code || end.status.code == 0 || end.status.code == 1) continue;
      violations.push_back(fmt::format("relay {}, life {}, stopped with code {}:\n{}", one->number(),
                                       end.life, *end.status.code, end.last_words));
    }
  }
  auto session = all.where.connect();
  const auto& user = all.where.user();
  for (const auto& left :
       {left_after("sessions", 60s, [&] { return session.number(relay_sessions, {user}); }),
        left_after("idle transactions", 60s, [&] { return session.number(idle_claims); }),
        left_after("advisory locks", 60s, [&] { return session.number(advisory_locks); }),
        left_after("AMQP connections", 60s, [&] { return broker_connections(all.where); })})
    if (!left.empty()) violations.push_back(left);
  return violations;
}

}  // namespace outboxd::chaos

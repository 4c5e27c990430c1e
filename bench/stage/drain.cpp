#include "stage/drain.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "stage/await.hpp"

namespace outboxd::bench {
namespace {

std::int64_t commits(test::database& session) {
  try {
    session.exec("SELECT pg_stat_force_next_flush()");
  } catch (const test::database_error& unknown) {
    if (unknown.sqlstate != "42883") throw;  // before PostgreSQL 15: the statistics are half a second old
  }
  return session.number("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()");
}

test::result_rows pids_of_relay(test::database& session) {
  return session.exec(
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE "
      "'outboxd % on %'");
}

// Other load on the machine lowers every rate, but hardly affects this figure.
double cpu_of_relay_sessions(test::database& session) {
  double seconds = 0;
  for (const auto& row : pids_of_relay(session)) seconds += usage_of(std::stoi(*row[0])).cpu_seconds;
  return seconds;
}

void require(bool holds, relay& of) {
  if (!holds && !of.running()) throw std::runtime_error("outboxd run has ended: " + of.tail());
}

}  // namespace

drained drain(const setup& on, stage& where, std::int64_t after_seq, std::int64_t events,
              const std::vector<std::string>& relay_flags) {
  auto session = where.connect();
  session.exec(
      "SET enable_seqscan = off");  // the query looks for few pending events among millions of others
  const auto wal = session.value("SELECT pg_current_wal_lsn()");
  const auto commits_before = commits(session);

  const auto began = session.value("SELECT clock_timestamp()");
  relay draining(on, where, relay_flags);
  // Checks the queue instead of the table, because a query on the table would compete with the relay.
  await("the queue has every event", [&] {
    const bool all = where.messages() >= events;
    require(all, draining);
    return all;
  });
  await("every event is marked", [&] {
    const bool all =
        session.number("SELECT count(*) FROM outbox.event WHERE seq > $1 AND status <> 'published'",
                       {std::to_string(after_seq)}) == 0;
    require(all, draining);
    return all;
  });
  const auto used = draining.usage();
  const double server_cpu = on.own_servers ? cpu_of_relay_sessions(session) : 0;
  const auto total = static_cast<double>(events);
  drained out;
  out.wal_bytes_per_event =
      std::stod(session.value("SELECT pg_current_wal_lsn() - $1::pg_lsn", {wal})) / total;
  out.cpu_us_per_event = used.cpu_seconds * 1e6 / total;
  out.server_cpu_us_per_event = server_cpu * 1e6 / total;
  out.peak_rss_mb = used.peak_rss_mb;
  draining.stop();
  // A session reports its commits periodically, and when it ends.
  await("the relay's sessions have ended", [&] { return pids_of_relay(session).empty(); });
  out.commits_per_1000_events = static_cast<double>(commits(session) - commits_before) * 1000 / total;
  out.events_per_second = marked_per_second(session, after_seq);
  out.from_start =
      total / std::stod(session.value("SELECT extract(epoch FROM max(published_at) - $1::timestamptz)"
                                      " FROM outbox.event WHERE seq > $2",
                                      {began, std::to_string(after_seq)}));
  if (const auto there = where.messages(); there != events)
    throw std::runtime_error(
        fmt::format("{} events were drained, but the queue has {} messages", events, there));
  return out;
}

drained fill_and_drain(const setup& on, stage& where, const filling& how,
                       const std::vector<std::string>& relay_flags) {
  const auto before = where.fill(how);
  const auto out = drain(on, where, before, how.events, relay_flags);
  where.clear(before);
  return out;
}

double marked_per_second(test::database& session, std::int64_t after_seq) {
  return std::stod(
      session.value("WITH done AS MATERIALIZED (SELECT published_at AS at FROM outbox.event"
                    " WHERE seq > $1 AND status = 'published')"
                    " SELECT count(*) FILTER (WHERE at > (SELECT min(at) FROM done))"
                    " / greatest(extract(epoch FROM max(at) - min(at)), 0.001) FROM done",
                    {std::to_string(after_seq)}));
}

}  // namespace outboxd::bench

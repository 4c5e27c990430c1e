// drain: measures how fast relays empty a table that was filled before they started.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stage/relay.hpp"
#include "stage/stage.hpp"

namespace outboxd::bench {

struct drained {
  double events_per_second = 0;  // from the first mark to the last
  double from_start = 0;         // events per second, from the start of the relay to the last mark
  double cpu_us_per_event = 0;   // CPU of the relay
  double server_cpu_us_per_event =
      0;  // CPU of the relay's PostgreSQL sessions; 0 on a server that is not our own
  double wal_bytes_per_event = 0;      // WAL of the whole server, from the first read to the last mark
  double commits_per_1000_events = 0;  // commits in the database, equal to the relay's round trips
  double peak_rss_mb = 0;              // peak memory of the relay
};

// Runs one relay until the events after `seq` are published, and checks that the queue has each of them once.
// Leaves the table and the queue unchanged afterwards. Throws on any failure.
drained drain(const setup& on, stage& where, std::int64_t after_seq, std::int64_t events,
              const std::vector<std::string>& relay_flags);

// Fills the table, drains it, and removes the drained events.
drained fill_and_drain(const setup& on, stage& where, const filling& how,
                       const std::vector<std::string>& relay_flags);

// The rate of published events after `seq`, from the table's timestamps. The first batch is excluded, because
// its start time is unknown.
double marked_per_second(test::database& session, std::int64_t after_seq);

}  // namespace outboxd::bench

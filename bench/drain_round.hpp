// drain_round: one table full of events, emptied by one relay.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace outboxd::bench {

struct drain_options {
  std::string outboxd;  // the binary
  std::string queue_type = "quorum";
  std::int64_t events = 100'000;
  std::int64_t aggregates = 20'000;
  std::int64_t size = 200;  // bytes of payload, roughly
  std::vector<std::string> relay_flags;
};

struct drain_result {
  double events_per_second = 0;       // from the first mark to the last
  double cpu_us_per_event = 0;        // of the relay
  double wal_bytes_per_event = 0;     // of the whole server, from the first claim to the last mark
  double transactions_per_event = 0;  // commits of the database, the relay's round trips by another name
  double peak_rss_mb = 0;             // of the relay
};

// Makes a database and a queue, drains, checks that the queue has every event, and removes both. Throws on
// any failure.
drain_result drain(const drain_options& how);

}  // namespace outboxd::bench

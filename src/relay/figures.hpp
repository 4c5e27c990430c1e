// figures: the current state and counters of a relay, for metrics, readiness and status.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/failure.hpp"
#include "core/histogram.hpp"
#include "flow/stream/pauses.hpp"
#include "relay/retention.hpp"

namespace outboxd::relay {

// Counters since the relay's start.
struct counts {
  std::uint64_t published = 0;                                       // marked as published, or deleted
  std::map<std::string, std::uint64_t> published_by_route{{"", 0}};  // "": without a route
  std::uint64_t retried = 0;  // events that began to back off, because they failed or could not be sent
  std::uint64_t dead = 0;
  std::uint64_t changed_after_send = 0;                       // published events whose rows had changed after
                                                              // they were sent
  std::array<std::uint64_t, all_failures.size()> failures{};  // in the order of all_failures
  std::uint64_t reads = 0;                                    // round trips with a read of new events
  std::uint64_t marks = 0;                                    // round trips with a mark
  std::uint64_t notifications = 0;
  std::uint64_t sweeps = 0;
  std::uint64_t takeovers = 0;  // leads acquired
  std::uint64_t database_losses = 0;
  std::uint64_t broker_losses = 0;
  histogram read_times;
  histogram delivery_times;  // from the start of the inserting transaction to the confirm
  std::optional<std::chrono::system_clock::time_point> last_published;
  std::optional<std::chrono::system_clock::time_point> last_sweep;
  std::array<std::uint64_t, all_prunable.size()> pruned{};  // rows that retention has deleted
  // The time at which retention last had nothing old left to delete.
  std::array<std::optional<std::chrono::system_clock::time_point>, all_prunable.size()> last_pruned{};
};

// The content of the table, sampled by the leader of shard 0. Numbers up to `exact_to` are exact; above that
// they are lower bounds.
struct table_sample {
  static constexpr std::int64_t exact_to = 100'000;

  std::chrono::system_clock::time_point at;
  std::int64_t pending = 0;
  std::int64_t backlog = 0;  // pending events, and waiting events that are due
  bool backlog_is_estimate = false;
  std::int64_t waiting = 0;
  std::int64_t dead = 0;
  std::int64_t published = 0;  // estimated from PostgreSQL's statistics
  double oldest_due_seconds = 0;
  double oldest_waiting_seconds = 0;  // age of the oldest event that backs off, or is blocked by one that
                                      // backs off
  double oldest_failing_seconds = 0;  // time since the first failure of an event that waits for a destination
};

// Why a relay does not relay events, or could not lead.
struct obstacle {
  std::string_view code;  // one of a fixed list, see docs/runbook.md
  std::string message;
  std::chrono::system_clock::time_point since;
};

// The code of a server's refusal; `otherwise` if the cause has none.
std::string_view reason_of(cause why, std::string_view otherwise);

// The progress of a relay from start to stop.
enum class progress {
  starting,  // has not tried to connect to both servers yet
  running,   // leads, stands by, or waits for a server that is unavailable
  stopping,
};

struct relay_figures {
  progress now_in = progress::starting;
  counts so_far;
  histogram publish_times;
  std::size_t lanes_open = 0;
  std::size_t lanes_blocked = 0;
  std::size_t lanes_down = 0;
  std::size_t in_flight = 0;  // sent but not confirmed
  std::size_t unsettled = 0;  // events read, but not yet published, recorded or given up
  std::size_t held_aggregates = 0;
  std::size_t destinations_down = 0;
  int shards = 1;
  int shards_led = 0;
  int relays = 1;
  int asleep = 0;  // shards whose leader, in this relay, is idle
  bool database_up = false;
  bool broker_up = false;
  bool broker_blocked = false;
  std::vector<obstacle> obstacles;
  std::vector<obstacle> warnings;                  // problems that do not stop the relay
  std::optional<double> notification_queue_usage;  // set only if the relay leads a shard; from 0 to 1
  // The expiry of the client certificate that was last presented to the broker.
  std::optional<std::chrono::system_clock::time_point> certificate_expires;
  std::optional<table_sample> table;  // set only on the relay that samples the table
  std::vector<flow::pause> paused;    // set only if the relay leads a shard
};

}  // namespace outboxd::relay

// figures: what a relay can tell of itself at a moment, for metrics, readiness and status.
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

// Since the relay's start.
struct counts {
  std::uint64_t published = 0;                                       // marked, or deleted
  std::map<std::string, std::uint64_t> published_by_route{{"", 0}};  // "": by none
  std::uint64_t retried = 0;  // backing off: failed, or the broker could not take it
  std::uint64_t dead = 0;
  std::uint64_t changed_after_send = 0;                       // of the published
  std::array<std::uint64_t, all_failures.size()> failures{};  // in the order of all_failures
  std::uint64_t reads = 0;                                    // round trips with a read of new events
  std::uint64_t marks = 0;                                    // round trips with a mark
  std::uint64_t notifications = 0;
  std::uint64_t sweeps = 0;
  std::uint64_t takeovers = 0;  // leads taken
  std::uint64_t database_losses = 0;
  std::uint64_t broker_losses = 0;
  histogram read_times;
  histogram delivery_times;  // from the start of the inserting transaction to the confirm
  std::optional<std::chrono::system_clock::time_point> last_published;
  std::optional<std::chrono::system_clock::time_point> last_sweep;
  std::array<std::uint64_t, all_prunable.size()> pruned{};  // rows that retention has deleted
  // When it last had nothing old left to delete.
  std::array<std::optional<std::chrono::system_clock::time_point>, all_prunable.size()> last_pruned{};
};

// The content of the table, sampled by the leader of shard 0. Numbers up to `exact_to` are exact; above that
// they are lower bounds.
struct table_sample {
  static constexpr std::int64_t exact_to = 100'000;

  std::chrono::system_clock::time_point at;
  std::int64_t pending = 0;
  std::int64_t backlog = 0;  // pending, and waiting and due
  bool backlog_is_estimate = false;
  std::int64_t waiting = 0;
  std::int64_t dead = 0;
  std::int64_t published = 0;  // estimated from PostgreSQL's statistics
  double oldest_due_seconds = 0;
  double oldest_waiting_seconds = 0;  // of events that back off or are blocked by one
  double oldest_failing_seconds = 0;  // since the first failure of an event that waits for a destination
};

// Why a relay cannot relay, or could not lead.
struct obstacle {
  std::string_view code;  // from a closed list, see docs/runbook.md
  std::string message;
  std::chrono::system_clock::time_point since;
};

// The code of a server's refusal; `otherwise` if the cause has none.
std::string_view reason_of(cause why, std::string_view otherwise);

// How far a relay has come.
enum class progress {
  starting,  // one of the servers has not been tried yet
  running,   // it leads, stands by, or waits for a server that is away
  stopping,
};

struct relay_figures {
  progress now_in = progress::starting;
  counts so_far;
  histogram publish_times;
  std::size_t lanes_open = 0;
  std::size_t lanes_blocked = 0;
  std::size_t lanes_down = 0;
  std::size_t in_flight = 0;  // published and not confirmed
  std::size_t unsettled = 0;  // read, and not yet published, recorded or given up
  std::size_t held_aggregates = 0;
  std::size_t destinations_down = 0;
  int shards = 1;
  int shards_led = 0;
  int relays = 1;
  int asleep = 0;  // shards led that wait for the doorbell
  bool database_up = false;
  bool broker_up = false;
  bool broker_blocked = false;
  std::vector<obstacle> obstacles;
  std::vector<obstacle> warnings;                  // they do not stop the relay
  std::optional<double> notification_queue_usage;  // leaders only, from 0 to 1
  // The certificate that was last shown to the broker.
  std::optional<std::chrono::system_clock::time_point> certificate_expires;
  std::optional<table_sample> table;  // only if it samples
  std::vector<flow::pause> paused;    // leaders only
};

}  // namespace outboxd::relay

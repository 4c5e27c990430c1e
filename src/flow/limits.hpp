// limits: how much the flow reads, keeps in memory and sends, and how long it waits.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/order_mode.hpp"
#include "core/retry_policy.hpp"
#include "core/routing.hpp"

namespace outboxd::flow {

// The largest message that RabbitMQ accepts in any configuration: the upper bound of max_message_size since
// 3.8.
inline constexpr std::int64_t largest_message = 536'870'912;

struct read_limits {
  int batch = 1'500;               // maximum rows per read
  std::int64_t seq_span = 20'000;  // seq range that part (a) of read.sql scans per read
};

struct write_limits {
  std::size_t enough = 1;               // a statement is sent once this many rows are queued
  std::chrono::microseconds linger{0};  // or once the oldest row has been queued for this long
  std::size_t most = 10'000;            // maximum rows per statement
};

struct lane_limits {
  std::chrono::milliseconds confirm_timeout{10'000};
};

struct doorbell_limits {
  // After this many notifications in one window, the leader polls instead of waiting for notifications, which
  // are faster than polls, and cheap as long as commits do not wait for each other. After such waits were
  // observed, the lower limit busy_contended applies for contention_lasts.
  std::chrono::milliseconds window{100};
  int busy = 50;
  int busy_contended = 10;
  std::chrono::milliseconds contention_lasts{60'000};
  // From this many notifications on, the leader checks whether commits wait for each other, at most once per
  // contention_probe.
  int probe_rate = 5;
  std::chrono::milliseconds contention_probe{1'000};
  // The leader stays awake for at least this long. After that, it may become idle once a window has at most
  // half as many events as would wake it again.
  std::chrono::milliseconds shortest_awake{250};
  // The pause between two polls is 1/poll_share of the time since events were last found, within these
  // bounds; the longest pause is the sweep interval.
  int poll_share = 8;
  std::chrono::microseconds shortest_poll{1'000};
  std::chrono::milliseconds longest_poll{1'000};
  std::chrono::milliseconds shortest_rung{10};  // between a read and the poll that a notification causes
};

// The effect of a dead event on later events of its aggregate.
enum class after_dead : std::uint8_t {
  go_on,
  hold,  // they wait until the dead event is retried or discarded
};

struct stream_limits {
  read_limits read;
  std::int64_t batch_bytes = 8'000'000;
  int batches = 4;  // unsettled events and bytes in memory, in batches
  write_limits marks{.enough = 500, .linger = std::chrono::milliseconds(10), .most = 10'000};
  // Maximum events of one aggregate in memory; the number is also limited to one batch and to one second of
  // max_rate. An aggregate with more events becomes a laggard (laggards.hpp).
  std::uint32_t longest_chain = 500;
  // A laggard's events are parked after this many later events of other aggregates were read.
  std::size_t most_overtaking = 100'000;
  // An event read longer ago than this is checked again before it is sent, because its row may have changed.
  std::chrono::milliseconds fresh_for{1'000};
  std::size_t most_held = 200'000;  // maximum number of held aggregates that are remembered individually
  order_mode order = order_mode::strict;
  flow::after_dead after_dead = flow::after_dead::go_on;
  routing route;
  retry_policy retry = retry_policy::exponential(std::chrono::seconds(1), std::chrono::minutes(5), 20);
  // An event that fails because of its destination is dead this long after its first failure. nullopt: never.
  std::optional<std::chrono::milliseconds> give_up_after = std::chrono::hours(24);
  std::string dead_letter_exchange;  // empty: none
  // A relay process that was suspended may have lost the lead. If the last answered request is older than
  // this, the leader sends nothing before the next answer.
  std::chrono::milliseconds lead_lasts{3'600'000};
  std::uint64_t seed = 1;  // for the jitter of retries
};

struct leader_limits {
  stream_limits stream;
  doorbell_limits doorbell;
  std::chrono::milliseconds sweep_interval{1'000};
  std::chrono::milliseconds claim_timeout{
      10'000};  // the server ends a session that sends no request for this long
  // How often a standby tries to take the lead when it may have become free.
  std::chrono::milliseconds standby_interval{100};
};

}  // namespace outboxd::flow

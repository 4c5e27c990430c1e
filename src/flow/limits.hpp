// limits: how much the flow reads, holds and sends, and for how long it waits.
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

// RabbitMQ's largest possible message: max_message_size has this maximum since 3.8.
inline constexpr std::int64_t largest_message = 536'870'912;

struct read_limits {
  int batch = 1'500;               // most rows in one read
  std::int64_t seq_span = 20'000;  // how far (a) goes in one read
};

struct write_limits {
  std::size_t enough = 1;               // so many are worth a statement
  std::chrono::microseconds linger{0};  // and so is the oldest after this long
  std::size_t most = 10'000;            // in one statement
};

struct lane_limits {
  std::chrono::milliseconds confirm_timeout{10'000};
};

struct doorbell_limits {
  // With this many notifications in a window, the leader polls instead. Notifications are faster than polls,
  // and cost little as long as commits do not wait for each other. The limit is lower for a while after such
  // waits were seen.
  std::chrono::milliseconds window{100};
  int busy = 50;
  int busy_contended = 10;
  std::chrono::milliseconds contention_lasts{60'000};
  // From this many on, the leader asks whether commits wait for each other, at most once in this time.
  int probe_rate = 5;
  std::chrono::milliseconds contention_probe{1'000};
  // The leader stays awake for at least this long. Then it may sleep once a window has half as many events as
  // would wake it up again, or fewer.
  std::chrono::milliseconds shortest_awake{250};
  // The pause between two polls is a part of the time since the last find, within bounds; the longest is the
  // sweep interval.
  int poll_share = 8;
  std::chrono::microseconds shortest_poll{1'000};
  std::chrono::milliseconds longest_poll{1'000};
  std::chrono::milliseconds shortest_rung{10};  // between a read and a poll after a ring
};

// What a dead event means for the later ones of its aggregate.
enum class after_dead : std::uint8_t {
  go_on,
  hold,  // they wait until it is retried or discarded
};

struct stream_limits {
  read_limits read;
  std::int64_t batch_bytes = 8'000'000;
  int batches = 4;  // limit of unsettled events and bytes in memory
  write_limits marks{.enough = 500, .linger = std::chrono::milliseconds(10), .most = 10'000};
  // Most events of one aggregate in memory; also limited to a batch and to a second's worth of max_rate. An
  // aggregate with more becomes a laggard (laggards.hpp).
  std::uint32_t longest_chain = 500;
  // After this many later events of other aggregates were read, a laggard's events are parked.
  std::size_t most_overtaking = 100'000;
  // An event that was read longer ago is checked again before it is sent, because its row may have changed.
  std::chrono::milliseconds fresh_for{1'000};
  std::size_t most_held = 200'000;  // most held aggregates that are remembered one by one
  order_mode order = order_mode::strict;
  flow::after_dead after_dead = flow::after_dead::go_on;
  routing route;
  retry_policy retry = retry_policy::exponential(std::chrono::seconds(1), std::chrono::minutes(5), 20);
  // An event is dead this long after its first failure at its destination. nullopt: never.
  std::optional<std::chrono::milliseconds> give_up_after = std::chrono::hours(24);
  std::string dead_letter_exchange;  // empty: none
  // A process that was stopped may have lost the lead. When the latest answered question is older than this,
  // it sends nothing before the next answer.
  std::chrono::milliseconds lead_lasts{3'600'000};
  std::uint64_t seed = 1;  // of the retries' jitter
};

struct leader_limits {
  stream_limits stream;
  doorbell_limits doorbell;
  std::chrono::milliseconds sweep_interval{1'000};
  std::chrono::milliseconds claim_timeout{
      10'000};  // the server ends a session after this long without a question
  // How often a standby tries to take a lead that may have become free.
  std::chrono::milliseconds standby_interval{100};
};

}  // namespace outboxd::flow

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

// What RabbitMQ takes at most, however it is configured: max_message_size has this maximum since 3.8.
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
  // So many notifications in a window are worth polling instead: to be woken is quicker than to poll, and a
  // notification costs little as long as no commit waits for another one's. Fewer, for a while after that was
  // seen.
  std::chrono::milliseconds window{100};
  int busy = 50;
  int busy_contended = 10;
  std::chrono::milliseconds contention_lasts{60'000};
  // From so many on it is worth asking whether commits wait for each other; at most once in this time.
  int probe_rate = 5;
  std::chrono::milliseconds contention_probe{1'000};
  // Awake for so long at least. Then it is time to sleep when half of what would wake it up again, or less,
  // was found in a window.
  std::chrono::milliseconds shortest_awake{250};
  // Between two polls: a part of the time in which nothing was found, within bounds; the longest is the sweep
  // interval.
  int poll_share = 8;
  std::chrono::microseconds shortest_poll{1'000};
  std::chrono::milliseconds longest_poll{1'000};
  std::chrono::milliseconds shortest_rung{10};  // between a read and a poll that a ring asks for
};

// What a dead event means for the later ones of its aggregate.
enum class after_dead : std::uint8_t {
  go_on,
  hold,  // they wait until it is retried or discarded
};

struct stream_limits {
  read_limits read;
  std::int64_t batch_bytes = 8'000'000;
  int batches = 4;  // of events and bytes that are read and not settled
  write_limits marks{.enough = 500, .linger = std::chrono::milliseconds(10), .most = 10'000};
  // Events of one aggregate in memory, and at most a batch, or a second's worth of max_rate; with more it is
  // left behind (laggards.hpp).
  std::uint32_t longest_chain = 500;
  // When more events than these have gone by an aggregate that was left behind, its own are parked.
  std::size_t most_overtaking = 100'000;
  // What was read longer ago is looked at again before it is sent: somebody may have changed it.
  std::chrono::milliseconds fresh_for{1'000};
  std::size_t most_held = 200'000;  // aggregates that hold back events, known by name
  order_mode order = order_mode::strict;
  flow::after_dead after_dead = flow::after_dead::go_on;
  routing route;
  retry_policy retry = retry_policy::exponential(std::chrono::seconds(1), std::chrono::minutes(5), 20);
  // An event is dead when its destination has not taken it for so long since its own first failure.
  // nullopt: never.
  std::optional<std::chrono::milliseconds> give_up_after = std::chrono::hours(24);
  std::string dead_letter_exchange;  // empty: none
  // A process that was stopped may find the lead gone: so long after the latest question that its session
  // has answered it sends nothing before the next answer.
  std::chrono::milliseconds lead_lasts{3'600'000};
  std::uint64_t seed = 1;  // of the retries' jitter
};

struct leader_limits {
  stream_limits stream;
  doorbell_limits doorbell;
  std::chrono::milliseconds sweep_interval{1'000};
  std::chrono::milliseconds claim_timeout{10'000};  // the server ends a session that asks nothing for so long
  // How often a standby tries to take a lead that may have become free.
  std::chrono::milliseconds standby_interval{100};
};

}  // namespace outboxd::flow

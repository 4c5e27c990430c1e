// schedule: the time, target and duration of each fault: a pure function of the seed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/tcp_proxy.hpp"

namespace outboxd::chaos {

enum class fault {
  // a relay's process
  relay_killed,
  relay_frozen,  // longer than claim_timeout
  relay_stopped,
  // a relay that is started for a while
  guest_stopped,
  guest_killed,
  // whichever relay leads a shard at that moment
  leader_killed,
  leader_stopped,
  // PostgreSQL
  backends_terminated,
  postgres_restarted,
  postgres_crashed,
  read_only,
  notifications_forged,
  notifications_lost,
  snapshot_held,
  table_locked,
  database_password,
  // RabbitMQ
  alarm,
  broker_killed,
  broker_restarted,
  broker_app_stopped,
  broker_frozen,
  connections_closed,
  queue_full,
  queue_unbound,
  exchange_deleted,
  permission_revoked,
  broker_password,
  // one relay's link to one server
  link_delayed,
  link_cut,
  link_reset,
  link_stalled,
  link_half_open,
  link_dropped,
  link_sliced,
  link_refused,
  link_silent,
  link_abandoned,
  // another program on the PostgreSQL server
  xids_burnt,
  lock_table_full,
  notify_queue_full,
  standby_gone,
  // manual changes of the outbox
  shard_rows_deleted,
  sequence_set_back,
  rows_corrected,
  rows_put_off,
};

std::string_view name_of(fault what);
std::optional<fault> fault_of(std::string_view name);

enum class server { postgres, rabbitmq };

std::string_view name_of(server which);

/// The target of a fault: faults of one target do not overlap, those of different targets may.
struct target {
  enum class kind { relay, guest, leader, postgres, rabbitmq, link, neighbour, hand };
  kind what = kind::relay;
  int relay = 0;                   // for relay, guest and link
  server peer = server::postgres;  // for link
  bool operator==(const target&) const = default;
  std::string words() const;
};

struct planned {
  std::chrono::milliseconds at{0};
  std::chrono::milliseconds lasts{0};
  fault what = fault::relay_killed;
  target whom;
  test::direction way = test::direction::to_server;  // for a fault in one direction of a link

  bool operator==(const planned&) const = default;
  /// "12.345 s +1.200 s link_stalled relay 1 to rabbitmq, to_client"
  std::string words() const;
};

struct schedule_options {
  std::uint64_t seed = 1;
  std::chrono::seconds length{60};
  int relays = 2;
  int guests = 0;  // additional relays, with the next numbers
};

/// In order of time. There are no faults in the first seconds, and each fault ends before `length`.
std::vector<planned> make_schedule(const schedule_options& from);

}  // namespace outboxd::chaos

// rig: an outbox on a primary with a standby, quorum queues on the cluster, writers and relays between them,
// and the check of what came of it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "integration/postgres_node.hpp"
#include "paced_writers.hpp"
#include "queue_watch.hpp"
#include "rabbit_cluster.hpp"
#include "support/history.hpp"
#include "support/process.hpp"
#include "verdict.hpp"

namespace outboxd::cluster {

struct rig_settings {
  int relays = 2;
  int shards = 1;
  std::uint64_t seed = 1;
  std::filesystem::path logs;  // a folder for the relays' logs; empty: none are written
};

class rig {
 public:
  rig(rabbit_cluster& all, const rig_settings& how);
  ~rig();
  rig(const rig&) = delete;
  rig& operator=(const rig&) = delete;

  rabbit_cluster& brokers() { return all_; }
  /// The queue of the writers' events, with a member on each node.
  queue_watch& queue() { return watch_; }
  /// A second queue, with members on two nodes only: without one of them it has no majority.
  queue_watch& pair() { return pair_watch_; }
  paced_writers& writers() { return *writers_; }

  /// Events that are committed from now on are published within a moment.
  void await_flow() const;
  /// Commits events for the second queue, each of an aggregate of its own.
  void write_to_pair();
  /// Each of them waits, and none of them has used up an attempt.
  void await_pair_waiting() const;
  /// Lets the writers rest, waits until everything is settled, and returns what is wrong with it in words;
  /// then they go on.
  std::vector<std::string> settle();
  /// The longest that an event committed since then was open while a node led the queue and a primary took
  /// writes.
  micros longest_open(const stretch& during) const;
  /// The longest that the queue had no leader, or the database no primary.
  micros longest_gap(const stretch& during) const;
  std::size_t duplicates() const { return duplicates_; }
  /// Events of acknowledged commits that the standby never got.
  std::size_t missing() const { return missing_; }

  /// No commit is acknowledged before the standby has it.
  void make_synchronous();
  /// The standby gets nothing any more, while commits go on.
  void hold_standby_back();
  /// The primary is gone; the standby takes its place.
  void fail_over();

  /// Ends the relays in the orderly way; returns what is wrong, in words.
  std::vector<std::string> stop();

 private:
  void start_relays();
  void read_queue(const std::string& name, const queue_watch& watch);
  test::database connect() const;
  std::vector<std::string> check();
  stretches served_in(const stretch& during) const;

  rabbit_cluster& all_;
  rig_settings how_;
  test::postgres_node primary_;
  test::tcp_proxy replication_{static_cast<std::uint16_t>(primary_.port())};
  test::postgres_node standby_{primary_, replication_.port()};
  std::string queue_;
  std::string pair_ = queue_ + "-pair";
  std::string database_ = "cluster";
  std::string database_url_;
  queue_watch watch_;
  queue_watch pair_watch_;
  test::history history_;
  int readings_ = 0;
  std::size_t duplicates_ = 0;
  std::size_t missing_ = 0;
  stretches no_primary_;
  bool synchronous_ = false;
  bool held_back_ = false;
  std::optional<failover> change_;
  std::vector<std::unique_ptr<test::process>> relays_;
  std::unique_ptr<paced_writers> writers_;
};

}  // namespace outboxd::cluster

// rabbit_cluster: three RabbitMQ nodes on this machine, with a name server of their own, and what may happen
// to them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "integration/private_server.hpp"
#include "support/process.hpp"
#include "support/tcp_proxy.hpp"

namespace outboxd::cluster {

inline constexpr int nodes = 3;

/// How a node is cut off from the two others; its clients always reach it.
enum class cut {
  refused,  // every connection is reset, and new ones are, too: both sides know at once
  silent,   // nothing arrives any more, as when a cable is pulled: both sides have to find out
};

/// Not for use by two threads at once.
class rabbit_cluster {
 public:
  /// Returns when all three run.
  rabbit_cluster();
  ~rabbit_cluster();
  rabbit_cluster(const rabbit_cluster&) = delete;
  rabbit_cluster& operator=(const rabbit_cluster&) = delete;

  std::string url(int node) const;
  /// All of them, this one first, as `amqp.url` takes them.
  std::string urls(int first = 0) const;
  /// Where this node writes down the states of its members of quorum queues.
  std::string states_file(int node) const;
  std::string log_file(int node) const;

  /// As if its machine had lost its power.
  void kill(int node);
  /// In the orderly way, as for an upgrade.
  void stop(int node);
  /// Returns when it takes connections and is in the cluster with the others.
  void start(int node);
  /// All nodes anew, whatever state they are in; every link works. Returns when all three run.
  void start_over();

  /// Where metadata is in Mnesia, a node in the minority closes its listener and all connections. With Khepri
  /// it keeps them.
  bool pauses_in_minority() const { return pauses_in_minority_; }
  void cut_off(int node, cut how);
  void reconnect(int node);

  /// Maintenance mode: it hands over its leaders, and closes its listener and all connections.
  void drain(int node);
  void revive(int node);

  /// It takes connections, and its two neighbours and itself run in one cluster.
  bool serves(int node) const;
  void await_all() const;

 private:
  struct member;

  test::process_options command(int node, const std::string& program,
                                const std::vector<std::string>& words) const;
  std::string ctl(int node, const std::string& program, const std::vector<std::string>& words) const;
  void launch(int node);
  test::tcp_proxy& link(int from, int to) const;

  test::server_directory directory_;
  int name_server_port_;
  bool pauses_in_minority_ = true;
  std::unique_ptr<test::process> name_server_;
  std::array<std::unique_ptr<member>, nodes> members_;
};

}  // namespace outboxd::cluster

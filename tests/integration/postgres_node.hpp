// postgres_node: a PostgreSQL server of the test's own, a primary or the standby of another one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "private_server.hpp"
#include "support/free_port.hpp"

namespace outboxd::test {

class postgres_node {
 public:
  /// An empty primary, with these settings as "name=value".
  explicit postgres_node(const std::vector<std::string>& settings = {});
  /// Its streaming standby, which reaches it at another port of a proxy if there is one.
  explicit postgres_node(const postgres_node& primary, int through_port = 0);

  int port() const { return port_; }
  /// The database `name` here, for a login that may do everything.
  std::string url(const std::string& name = "postgres") const;
  database connect() const { return database{url()}; }

  /// From now on no table and no index can grow; or they can again.
  void fill_disk() const;
  void clear_disk() const;
  /// As if the machine had lost its power: all its processes at once.
  void kill();
  /// Returns when it takes writes.
  void promote() const;

 private:
  void start(const std::string& ready, const std::vector<std::string>& more = {});
  std::string full_disk_flag() const { return directory_.path() + "/full"; }

  server_directory directory_;
  int port_ = free_port();
  std::unique_ptr<process> server_;
};

/// One connection string for several nodes, without a word on which one is wanted.
std::string url_of(const std::vector<const postgres_node*>& nodes, const std::string& database);

}  // namespace outboxd::test

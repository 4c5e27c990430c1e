// pooler: a pgbouncer of the test's own before the private PostgreSQL.
#pragma once

#include "private_server.hpp"
#include "support/free_port.hpp"

namespace outboxd::test {

class pooler {
 public:
  /// `mode`: session, transaction or statement. Returns when it takes connections.
  explicit pooler(const std::string& mode);

  /// The stage's database through it.
  std::string url(const stage& on) const;
  /// Its own log.
  process& server() { return server_; }

 private:
  server_directory directory_;
  int port_;
  process server_;
};

}  // namespace outboxd::test

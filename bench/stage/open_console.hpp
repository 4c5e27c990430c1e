// open_console: one outboxd console as a separate process, and its cost for PostgreSQL.
#pragma once

#include <cstdint>

#include "report/process_usage.hpp"
#include "stage/setup.hpp"
#include "stage/stage.hpp"
#include "support/process.hpp"

namespace outboxd::bench {

class open_console {
 public:
  // The console of a relay that serves HTTP at 127.0.0.1:relay_port, now or later.
  open_console(const setup& on, const stage& where, std::uint16_t relay_port);

  std::uint16_t port() const { return port_; }
  process_usage usage() const { return usage_of(process_.pid()); }

  // CPU used so far by the console's PostgreSQL sessions: those that exist, and all ended server processes,
  // because the sessions of `check` are short. Only differences are meaningful, and only if no other sessions
  // end meanwhile. Works only on our own server, because other users' processes are not visible.
  double server_cpu_seconds(test::database& session) const;

 private:
  test::process process_;
  std::uint16_t port_;
};

}  // namespace outboxd::bench

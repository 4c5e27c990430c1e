// open_console: one outboxd console as a process of its own, and what it costs PostgreSQL.
#pragma once

#include <cstdint>

#include "report/process_usage.hpp"
#include "stage/setup.hpp"
#include "stage/stage.hpp"
#include "support/process.hpp"

namespace outboxd::bench {

class open_console {
 public:
  // Of a relay that serves HTTP at 127.0.0.1:relay_port, or will.
  open_console(const setup& on, const stage& where, std::uint16_t relay_port);

  std::uint16_t port() const { return port_; }
  process_usage usage() const { return usage_of(process_.pid()); }

  // CPU of its sessions in PostgreSQL so far: of those that are there, and of all processes of the server
  // that have ended, for the sessions of `check` come and go. Only differences mean something, and only while
  // nobody else's sessions end. On our own server only: the processes of others cannot be seen.
  double server_cpu_seconds(test::database& session) const;

 private:
  test::process process_;
  std::uint16_t port_;
};

}  // namespace outboxd::bench

// commands: what the command line can ask for. Each returns the process's exit status.
#pragma once

#include <string>

#include "app/settings.hpp"

namespace outboxd::app {

inline constexpr int exit_success = 0;
inline constexpr int exit_failure = 1;  // at run time
inline constexpr int exit_usage = 2;    // the command line or the configuration

int run_command(const settings& from);

struct migrate_options {
  std::string payload_type;  // empty: as it is, or jsonb
  bool print = false;
  bool notify = false;     // have the doorbell's trigger, also if it was left out before
  bool no_notify = false;  // do without
};
int migrate_command(const settings& from, const migrate_options& options);

int version_command();

// One line on standard error.
void say_error(std::string_view message);

}  // namespace outboxd::app

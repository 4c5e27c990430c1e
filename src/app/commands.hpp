// commands: what the command line can ask for. Each returns the process's exit status.
#pragma once

#include <string>

#include "app/selection.hpp"
#include "app/settings.hpp"

namespace outboxd::app {

inline constexpr int exit_success = 0;
inline constexpr int exit_failure = 1;  // at run time
inline constexpr int exit_usage = 2;    // the command line or the configuration

int run_command(const settings& from);

struct migrate_options {
  std::string payload_type;  // empty: as it is, or jsonb
  std::optional<int> shards;
  bool print = false;
  bool notify = false;     // writers ring, also if they did not before
  bool no_notify = false;  // they do not
};
int migrate_command(const settings& from, const migrate_options& options);

struct dead_list_options {
  selectors which;
  int limit = 100;
  bool json = false;
};
int dead_list_command(const settings& from, const dead_list_options& options);

struct dead_show_options {
  std::string id;
  bool payload = false;  // and the values of headers
  bool json = false;
};
int dead_show_command(const settings& from, const dead_show_options& options);

enum class change { retry, discard, replay };
struct change_options {
  selectors which;
  bool dry_run = false;
  bool json = false;
};
int change_command(const settings& from, change what, const change_options& options);

struct prune_options {
  std::string older_than;
  bool dry_run = false;
  bool json = false;
};
int prune_command(const settings& from, const prune_options& options);

int version_command();

// One line on standard error; refuse returns exit_usage.
void say_error(std::string_view message);
int refuse(std::string_view message);

}  // namespace outboxd::app

// commands: what the command line can ask for. Each returns the process's exit status.
#pragma once

#include <functional>
#include <string>

#include "app/adopt/misfits.hpp"
#include "app/change/order.hpp"
#include "app/selection.hpp"
#include "app/settings.hpp"

namespace outboxd::app {

inline constexpr int exit_success = 0;
inline constexpr int exit_failure = 1;  // at run time
inline constexpr int exit_usage = 2;    // the command line or the configuration

struct run_options {
  bool print_config = false;                         // instead of relaying
  std::function<result<raw_settings>()> read_again;  // flags, environment and file
};
int run_command(const settings& from, const run_options& options);

struct migrate_options {
  std::optional<std::string> payload_type;  // none: as it is, or jsonb
  std::optional<int> shards;
  bool print = false;
  bool check = false;                    // only tell what is pending
  bool notify = false;                   // writers ring, also if they did not before
  bool no_notify = false;                // they do not
  std::optional<std::string> partition;  // daily or hourly; none: as it is
};
int migrate_command(const settings& from, const migrate_options& options);

struct adopt_options {
  std::string table;
  std::optional<std::string> preset;
  std::vector<std::string> maps;     // FIELD=COLUMN
  std::vector<std::string> headers;  // NAME=COLUMN
  std::optional<std::string> where;
  misfit_options misfits;
  std::vector<std::string> order_by;  // of the backlog
  bool keep = false;
  bool backlog = false;
  bool print = false;
  bool remove = false;
};
int adopt_command(const settings& from, const adopt_options& options);

struct check_options {
  bool json = false;
};
int check_command(const settings& from, const check_options& options);

struct dead_list_options {
  selectors which;
  bool by_reason = false;  // one line for each last_error_code
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

struct change_options : change_order {
  bool yes = false;  // also more than a thousand
  bool dry_run = false;
  bool json = false;
};
int change_command(const settings& from, change what, const change_options& options);

struct pause_options : pause_order {
  bool json = false;
};
int pause_command(const settings& from, const pause_options& options);
int resume_command(const settings& from, const pause_options& options);

struct prune_options {
  std::string older_than;
  std::optional<std::string> reason;  // for outbox.audit
  bool dry_run = false;
  bool json = false;
};
int prune_command(const settings& from, const prune_options& options);

// Asks the relay of these settings; `ready`: whether it can publish, not only whether it is alive.
int health_command(const settings& from, bool ready);

struct status_options {
  bool json = false;
  bool watch = false;
};
int status_command(const settings& from, const status_options& options);

struct trace_options {
  std::string id;
  bool json = false;
};
int trace_command(const settings& from, const trace_options& options);

struct route_options {
  std::string event_type;
  std::string aggregate_type;
  std::string aggregate_id;
  std::vector<std::string> headers;  // NAME=VALUE
  std::string payload = "{}";
  std::string payload_type = "jsonb";
  std::optional<std::string> exchange;  // of the row, also empty
  std::optional<std::string> routing_key;
  bool json = false;
};
int route_command(const settings& from, const route_options& options);

int version_command();

// One line on standard error; refuse returns exit_usage.
void say_error(std::string_view message);
int refuse(std::string_view message);

}  // namespace outboxd::app

// status: prints a snapshot of the outbox, or a new one every two seconds.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/command/outcome.hpp"
#include "app/commands/commands.hpp"
#include "app/commands/flags.hpp"
#include "app/operate/operator_session.hpp"
#include "app/operate/status.hpp"

namespace outboxd::app {
namespace {

struct status_options {
  bool json = false;
  bool watch = false;
};

constexpr std::time_t between_looks = 2;  // seconds
constexpr std::string_view clear_screen = "\x1b[H\x1b[2J";

outcome<operator_session> open_session(const settings& from) {
  auto session = operator_session::open(from, "outboxd status");
  if (!session) return session;
  OUTBOXD_TRY_VOID(session->look_only());
  return session;
}

void print(const nlohmann::json& status, bool as_json, int indent) {
  fmt::print("{}\n", as_json ? status.dump(indent) : status_view(status));
  std::fflush(stdout);
}

outcome<int> once(const settings& from, const status_options& options) {
  OUTBOXD_TRY(auto session, open_session(from));
  auto status = look_at_outbox(session, from.relay.leader.database);
  if (!from.outbox.empty()) status["outbox"] = from.outbox;
  fmt::print("{}", options.json ? status.dump(2) + "\n" : status_view(status));
  return status.at("errors").empty() ? exit_success : exit_failure;
}

// Runs until SIGINT or SIGTERM. Signals are handled between two snapshots, so that no snapshot is cut off.
outcome<int> watch(const settings& from, const status_options& options) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  const bool terminal = ::isatty(STDOUT_FILENO) != 0;
  auto session = open_session(from);
  if (!session) return tl::make_unexpected(session.error());
  const timespec pause{between_looks, 0};
  do {
    if (!session) session = open_session(from);
    nlohmann::json status{{"schema", from.relay.leader.database.schema.name()},
                          {"errors", nlohmann::json::array()}};
    if (session)
      status = look_at_outbox(*session, from.relay.leader.database);
    else
      status["errors"].push_back(session.error().message);
    if (terminal && !options.json) fmt::print("{}", clear_screen);
    print(status, options.json, -1);
    // If no part could be read, the connection is lost or useless.
    if (session && status.at("errors").size() == status_parts.size()) session = open_session(from);
  } while (sigtimedwait(&ends, nullptr, &pause) < 0);
  return exit_success;
}

}  // namespace

void add_status_command(CLI::App& app, command_set& to) {
  CLI::App* const status = app.add_subcommand("status", "show the backlog, stuck events and leaders");
  const auto options = std::make_shared<status_options>();
  status->add_flag("--watch", options->watch, "again every 2 s, until Ctrl-C");
  add_json(*status, options->json);
  to.push_back({status, purpose::migration, [options](const settings& from) {
                  return report(options->watch ? watch(from, *options) : once(from, *options));
                }});
}

}  // namespace outboxd::app

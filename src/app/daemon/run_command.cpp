#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <memory>
#include <utility>

#include "app/command/outcome.hpp"
#include "app/config/effective_settings.hpp"
#include "app/config/reload.hpp"
#include "app/daemon/commands.hpp"
#include "app/daemon/log.hpp"
#include "app/daemon/relay_endpoints.hpp"
#include "app/daemon/relay_log.hpp"
#include "app/daemon/run_signals.hpp"
#include "app/daemon/service_notices.hpp"
#include "app/daemon/step_log.hpp"
#include "http/server.hpp"

namespace outboxd::app {
namespace {

struct run_options {
  bool print_config = false;                         // instead of relaying
  bool all = false;                                  // of it
  std::function<result<raw_settings>()> read_again;  // flags, environment and file
};

result<void> listen(http::server& server, const http_settings& on, spdlog::logger& log) {
  for (const auto& where : on.listen) {
    OUTBOXD_TRY(const auto found, server.listen(where));
    log.info("listening on {}", http::url_of(found));
  }
  return {};
}

// SIGHUP. What is not good leaves everything as it is; true: it was good.
bool take_up(const result<raw_settings>& found, settings& in_force, relay::relay& relay, logger& log) {
  auto changed = found ? reload(in_force, *found) : tl::make_unexpected(found.error());
  if (const auto payload = relay.payload(); changed && payload)
    if (const auto why = misfit(changed->in_force.relay.leader.stream.route, *payload))
      changed = permanent(*why);
  if (!changed) {
    log.error("configuration not reloaded: {}", changed.error().message);
    return false;
  }
  const settings before = std::exchange(in_force, std::move(changed->in_force));
  relay.adopt(in_force.relay);
  log.adopt(in_force.log);
  for (const std::string& key : changed->taken_up) {
    const auto now = value_of(in_force, key);
    log.info("{} = '{}' ({}) from now on; it was '{}'", key, now.text, now.origin,
             value_of(before, key).text);
  }
  for (const std::string& key : changed->at_restart)
    log.warn("{} has changed, but takes effect only when the relay restarts", key);
  if (changed->taken_up.empty() && changed->at_restart.empty())
    log.info("configuration reloaded; no changes");
  return true;
}

service_view view_of(const relay::relay& relay, const std::shared_ptr<spdlog::logger>& log) {
  return {
      .figures = [&relay] { return relay.figures(); },
      .stuck = [&relay] { return relay.stuck(); },
      .unheard = [log](const std::string& why) { log->warn("cannot notify systemd: {}", why); },
  };
}

int run_command(const settings& from, const run_options& options) {
  if (options.print_config) {
    fmt::print("{}", to_toml(from, options.all ? extent::all : extent::usual));
    return exit_success;
  }
  const auto service_manager = sd_notify::from_environment();
  const auto log = make_logger(from.log);
  for (const auto& warning : from.warnings) log->warn(warning);
  log->info("outboxd {}: schema {}, {} connections, up to {} events per read", OUTBOXD_VERSION,
            from.relay.leader.database.schema.name(), from.relay.lanes, from.relay.leader.stream.read.batch);
  if (from.relay.max_rate > 0)
    log->info("at most {} messages per second (relay.max_rate)", from.relay.max_rate);
  std::signal(SIGPIPE, SIG_IGN);  // a closed log pipe or socket is an error of its write
  for (const int unused : {SIGUSR1, SIGUSR2}) std::signal(unused, SIG_IGN);  // they would end the process

  boost::asio::io_context io(1);
  step_log steps(log);
  relay_log said(io, log);
  relay::relay relay(
      io, from.relay, [&said](const relay::relay_notice& what) { said.take(what); }, &steps);
  http::server server(io.get_executor(), handler_of(endpoints_of(relay)), from.http.hosts);
  if (const auto heard = listen(server, from.http, *log); !heard) {
    log->error(heard.error().message);
    return exit_failure;
  }
  service_notices notices(io, service_manager, view_of(relay, log));
  settings in_force = from;
  run_signals signals(io, {.stop =
                               [&] {
                                 log->info("stopping: no new reads, waiting for outstanding confirms");
                                 relay.stop();
                                 notices.look();
                               },
                           .reload =
                               [&] {
                                 notices.reloading();
                                 notices.reloaded(!take_up(options.read_again(), in_force, relay, *log));
                                 steps.follow_level();
                               }});
  bool clean = true;
  relay.start([&](bool closed_all) {
    clean = closed_all;
    signals.cancel();
    server.stop();
    notices.stop();
    said.stop();
    if (!closed_all) io.stop();
  });
  notices.start();
  io.run();
  if (relay.failure()) {
    log->error(relay.failure()->message);
  } else {
    const relay::counts& all = relay.totals();
    log->info("stopped; {} events published, {} sent back to wait, {} dead", all.published, all.retried,
              all.dead);
  }
  const int status = !relay.failure()                                ? exit_success
                     : relay.failure()->why == cause::schema_version ? exit_usage
                                                                     : exit_failure;
  // The reactor's destructor would wait for a name look-up that hangs, and nothing is left to save.
  if (!clean) ::_exit(status);
  return status;
}

}  // namespace

void add_run_command(CLI::App& app, const setting_flags& flags, command_set& to) {
  CLI::App* const run = app.add_subcommand("run", "relay events until stopped");
  const auto options = std::make_shared<run_options>();
  options->read_again = [&flags] { return flags.gather(); };
  run->add_flag("--print-config", options->print_config,
                "print the settings in force as TOML, with their origins, and exit");
  run->add_flag("--all", options->all,
                "with --print-config: also advanced settings that have their defaults");
  to.push_back(
      {run, purpose::relay, [options](const settings& from) { return run_command(from, *options); }});
}

}  // namespace outboxd::app

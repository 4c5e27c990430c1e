#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <optional>
#include <utility>

#include "app/command/outcome.hpp"
#include "app/config/effective_settings.hpp"
#include "app/daemon/commands.hpp"
#include "app/daemon/log.hpp"
#include "app/daemon/relay_endpoints.hpp"
#include "app/daemon/relay_host.hpp"
#include "app/daemon/run_signals.hpp"
#include "app/daemon/service_notices.hpp"
#include "app/daemon/span_steps.hpp"
#include "http/server.hpp"

namespace outboxd::app {
namespace {

struct run_options {
  bool print_config = false;  // prints the settings instead of starting the relay
  bool all = false;           // prints all settings
  std::vector<std::string> files;
};

result<host_plan> plan_of(const setting_flags& flags, const run_options& options) {
  OUTBOXD_TRY(auto main, flags.gather());
  if (options.files.empty()) {
    OUTBOXD_TRY(const auto files, flags.outboxes());
    return plan_of(std::move(main), files);
  }
  std::vector<outbox_file> files;
  for (const auto& path : options.files) {
    const auto& one = files.emplace_back(outbox_file_at(path));
    if (std::any_of(files.begin(), files.end() - 1,
                    [&](const auto& other) { return other.name == one.name; }))
      return permanent(fmt::format("two files give the outbox {}; their names have to differ", one.name));
  }
  return plan_of(std::move(main), files);
}

// Returns the settings of the process. Fails if they, or the settings of every outbox, are invalid.
result<settings> check_plan(const host_plan& plan) {
  const auto read = [](const raw_settings& raw) { return read_settings(raw); };
  if (plan.outboxes.size() == 1) return plan.outboxes.front().raw.and_then(read);
  OUTBOXD_TRY(auto process, read_settings(plan.process, purpose::health));
  std::optional<error> first;
  for (const auto& one : plan.outboxes) {
    const auto good = one.raw.and_then(read);
    if (good) return process;
    if (!first) first = error{fault::permanent, fmt::format("outbox {}: {}", one.name, good.error().message)};
  }
  return tl::make_unexpected(*first);
}

int print_config(const host_plan& plan, extent which) {
  for (const auto& one : plan.outboxes) {
    const auto read = one.raw.and_then([](const raw_settings& raw) { return read_settings(raw); });
    if (!read) return refuse(read.error().message);
    if (plan.outboxes.size() > 1) fmt::print("# outbox {}\n", one.name);
    fmt::print("{}", to_toml(*read, which));
  }
  return exit_success;
}

result<void> listen(http::server& server, const http_settings& on, spdlog::logger& log) {
  for (const auto& where : on.listen) {
    OUTBOXD_TRY(const auto found, server.listen(where));
    log.info("listening on {}", http::url_of(found));
  }
  return {};
}

service_view view_of(const relay_host& host, const std::shared_ptr<spdlog::logger>& log) {
  return {
      .state = [&host] { return state_of(host.view()); },
      .stuck = [&host] { return host.stuck(); },
      .unheard = [log](const std::string& why) { log->warn("cannot notify systemd: {}", why); },
  };
}

int run_command(const setting_flags& flags, const run_options& options) {
  const auto plan = plan_of(flags, options);
  if (!plan) return refuse(plan.error().message);
  const auto process = check_plan(*plan);
  if (!process) return refuse(process.error().message);
  if (options.print_config) return print_config(*plan, options.all ? extent::all : extent::usual);
  const auto service_manager = sd_notify::from_environment();
  const auto log = make_logger(process->log);
  if (plan->outboxes.size() > 1) log->info("outboxd {}: {} outboxes", OUTBOXD_VERSION, plan->outboxes.size());
  std::signal(SIGPIPE, SIG_IGN);  // writing to a closed pipe or socket returns an error
  for (const int unused : {SIGUSR1, SIGUSR2}) std::signal(unused, SIG_IGN);  // they would end the process

  boost::asio::io_context io(1);
  std::optional<span_steps> spans;
  if (process->otlp) spans.emplace(io, *process->otlp, log);
  relay_host host(io, *process, log, spans ? flow::step_observers{&*spans} : flow::step_observers());
  endpoints pages = endpoints_of(host);
  if (spans)
    pages.metrics = [others = pages.metrics, &spans] { return others() + span_metrics(spans->counts()); };
  http::server server(io.get_executor(), handler_of(std::move(pages)), process->http.hosts);
  if (const auto heard = listen(server, process->http, *log); !heard) {
    log->error(heard.error().message);
    return exit_failure;
  }
  service_notices notices(io, service_manager, view_of(host, log));
  run_signals signals(io, {.stop =
                               [&] {
                                 log->info("stopping: no new reads, waiting for outstanding confirms");
                                 host.stop();
                                 notices.look();
                               },
                           .reload =
                               [&] {
                                 notices.reloading();
                                 notices.reloaded(!host.take_up(plan_of(flags, options)));
                               }});
  bool clean = true;
  host.start(*plan, [&](bool closed_all) {
    clean = closed_all;
    signals.cancel();
    server.stop();
    notices.stop();
    if (!closed_all) return io.stop();
    if (!spans) return;
    spans->stop([&](bool sender_clean) {
      clean = sender_clean;
      if (!clean) io.stop();
    });
  });
  notices.start();
  io.run();
  const auto& failure = host.failure();
  const int status = !failure                                ? exit_success
                     : failure->why == cause::schema_version ? exit_usage
                                                             : exit_failure;
  // The reactor's destructor would wait for a DNS lookup that hangs, and there is nothing left to save.
  if (!clean) ::_exit(status);
  return status;
}

}  // namespace

void add_run_command(CLI::App& app, const setting_flags& flags, command_set& to) {
  CLI::App* const run = app.add_subcommand("run", "relay events until stopped");
  const auto options = std::make_shared<run_options>();
  run->add_option("file", options->files,
                  "TOML files that each give one outbox, instead of a folder (--outboxes)")
      ->type_name("FILE");
  run->add_flag("--print-config", options->print_config,
                "print the settings in force as TOML, with their origins, and exit");
  run->add_flag("--all", options->all,
                "with --print-config: also advanced settings that have their defaults");
  to.push_back({run, purpose::health,
                [&flags, options](const settings&) { return run_command(flags, *options); }, scope::process});
}

}  // namespace outboxd::app

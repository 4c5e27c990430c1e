#include "app/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "app/adopt/adopt_options.hpp"
#include "app/check/check_command.hpp"
#include "app/command/outcome.hpp"
#include "app/command_refusal.hpp"
#include "app/commands/commands.hpp"
#include "app/daemon/commands.hpp"
#include "app/schema/migrate_command.hpp"
#include "app/version.hpp"

namespace outboxd::app {

namespace {

int version_command() {
  fmt::print("{}", version_text());
  return exit_success;
}

// Handles `outboxd help events list` and `outboxd help settings`.
int help_command(const CLI::App& app, const setting_flags& flags, const std::vector<std::string>& topic) {
  if (topic == std::vector<std::string>{"settings"}) {
    fmt::print("{}", flags.help());
    return exit_success;
  }
  const CLI::App* at = &app;
  std::string name = app.get_name();
  for (const std::string& word : topic) {
    const auto found = at->get_subcommands([&](const CLI::App* one) { return one->get_name() == word; });
    if (found.empty()) return refuse_unknown_command(word);
    at = found.front();
    name += " " + word;
  }
  fmt::print("{}", at->get_formatter()->make_help(at, name, CLI::AppFormatMode::Normal));
  return exit_success;
}

}  // namespace

int run_command_line(int argc, char** argv, add_commands others) {
  CLI::App app("outboxd relays events from a transactional outbox in PostgreSQL to RabbitMQ.", "outboxd");
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(
      "`outboxd help settings` lists all settings. Each is also a key of the file ([relay] lanes = 4) and a\n"
      "variable (OUTBOXD_RELAY_LANES=4); a flag beats the environment, the environment beats the file.");
  const setting_flags flags(app);
  command_set commands;
  add_run_command(app, flags, commands);
  add_migrate_command(app, commands);
  add_health_command(app, commands);
  add_check_command(app, commands);
  add_route_command(app, commands);
  add_adopt_command(app, commands);
  add_status_command(app, commands);
  add_trace_command(app, commands);
  add_events_commands(app, commands);
  add_pausing_commands(app, commands);
  add_prune_command(app, commands);
  others(app, commands);
  CLI::App* const version =
      app.add_subcommand("version", "print the version, the commit, and the libraries' versions");
  app.set_version_flag("--version", OUTBOXD_VERSION,
                       "print the version, the commit, and the libraries' versions");
  CLI::App* const help = app.add_subcommand("help", "print this help, a command's help, or all settings");
  std::vector<std::string> topic;
  help->add_option("command", topic, "such as: events list, or settings")->type_name("");

  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  if (const auto flag = flag_without_value(app, arguments)) return refuse_flag_without_value(*flag);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& asked) {
    return app.exit(asked);
  } catch (const CLI::CallForVersion&) {
    return version_command();
  } catch (const CLI::ParseError& wrong) {
    return refuse_command_line(app, arguments, wrong);
  }
  if (version->parsed()) return version_command();
  if (help->parsed()) return help_command(app, flags, topic);
  for (const command& one : commands) {
    if (!one.parsed_by->parsed()) continue;
    const auto raw = flags.gather();
    if (!raw) return refuse(raw.error().message);
    const auto read = read_settings(*raw, one.what_for);
    if (!read) return refuse(read.error().message);
    return one.run(*read);
  }
  return refuse("no command given; see `outboxd --help`");
}

}  // namespace outboxd::app

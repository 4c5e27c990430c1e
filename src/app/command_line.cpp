#include "app/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "app/command_refusal.hpp"
#include "app/command_set.hpp"
#include "app/commands.hpp"
#include "app/setting_flags.hpp"

namespace outboxd::app {

void say_error(std::string_view message) {
  fmt::print(stderr, "outboxd: {}\n", message);
}

int refuse(std::string_view message) {
  say_error(message);
  return exit_usage;
}

int version_command() {
  fmt::print("outboxd {}\n", OUTBOXD_VERSION);
  return exit_success;
}

int run_command_line(int argc, char** argv) {
  CLI::App app("outboxd relays events from a transactional outbox in PostgreSQL to RabbitMQ.", "outboxd");
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(
      "Every setting is also a key of the file ([relay] lanes = 4) and a variable (OUTBOXD_RELAY_LANES=4);\n"
      "a flag beats the environment, the environment beats the file.");
  const setting_flags flags(app);
  command_set commands;
  add_daemon_commands(app, commands);
  add_operator_commands(app, commands);
  CLI::App* const version = app.add_subcommand("version", "print the version");

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& wrong) {
    return refuse_command_line(app, {argv + std::min(argc, 1), argv + argc}, wrong);
  }
  if (version->parsed()) return version_command();
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

#include "app/command_line.hpp"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "app/adopt/adopt_options.hpp"
#include "app/check/check_command.hpp"
#include "app/command/outcome.hpp"
#include "app/command_refusal.hpp"
#include "app/commands/commands.hpp"
#include "app/daemon/commands.hpp"
#include "app/daemon/relay_host.hpp"
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

// The arguments in the place of files of `outboxd run` that cannot be such files. They may be secrets.
std::vector<std::string> not_files(const CLI::App& app) {
  std::vector<std::string> out = app.get_subcommand("run")->get_option("file")->results();
  std::erase_if(out, [](const std::string& one) {
    return one.ends_with(".toml") && one.find("://") == std::string::npos;
  });
  return out;
}

std::vector<std::string> names_of(const std::vector<outbox_file>& files) {
  std::vector<std::string> out;
  for (const auto& one : files) out.push_back(one.name);
  return out;
}

// The outboxes selected on the command line. Empty: only the outbox of the main settings.
result<std::vector<outbox_file>> outboxes_for(const command& what, const setting_flags& flags,
                                              const std::optional<std::string>& name) {
  if (what.of == scope::process) {
    if (name) return permanent(fmt::format("`outboxd {}` takes no --outbox", what.parsed_by->get_name()));
    return {};
  }
  OUTBOXD_TRY(auto files, flags.outboxes());
  if (!name && files.size() < 2) return files;
  const auto* const watch = what.parsed_by->get_option_no_throw("--watch");
  const bool any = what.of == scope::any && (watch == nullptr || watch->count() == 0);
  const auto names = fmt::format("{}", fmt::join(names_of(files), ", "));
  if (files.empty())
    return permanent("--outbox is given, but there is no folder of outboxes; name it with --outboxes");
  if (!name)
    return permanent(fmt::format("there are several outboxes; give --outbox {}{}",
                                 any ? "all or one of: " : "with one of: ", names));
  if (*name == all_outboxes) {
    if (any) return files;
    return permanent(
        fmt::format("`outboxd {}` works on one outbox, not on all of them", what.parsed_by->get_name()));
  }
  std::erase_if(files, [&](const auto& one) { return one.name != *name; });
  if (files.empty()) return permanent(fmt::format("there is no outbox '{}'; there are: {}", *name, names));
  return files;
}

int run_for(const command& what, const result<raw_settings>& raw, const std::string& outbox) {
  if (!raw) return refuse(raw.error().message);
  auto read = read_settings(*raw, what.what_for);
  if (!read) return refuse(read.error().message);
  read->outbox = outbox;
  return what.run(*read);
}

// Returns the worst exit status. With several outboxes, prints each one's name on standard error before its
// output.
int run_for_outboxes(const command& what, const setting_flags& flags,
                     const std::optional<std::string>& name) {
  const auto main = flags.gather();
  if (!main) return refuse(main.error().message);
  const auto files = outboxes_for(what, flags, name);
  if (!files) return refuse(files.error().message);
  if (files->empty()) return run_for(what, main, {});
  const bool alone = files->size() == 1 && !name;
  int worst = exit_success;
  for (const auto& file : *files) {
    if (files->size() > 1) {
      std::fflush(stdout);
      fmt::print(stderr, "outbox {}:\n", file.name);
    }
    // A single file may contain settings of the process, as with `outboxd run`.
    const auto raw = alone ? plan_of(*main, *files).outboxes.front().raw : settings_of_outbox(file, *main);
    worst = std::max(worst, run_for(what, raw, file.name));
  }
  return worst;
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
  std::optional<std::string> outbox;
  add_text(app, "--outbox", outbox, "with a folder of outboxes: the outbox that a command is for, or all")
      ->type_name("NAME");
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
  others(app, flags, commands);
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
  if (const auto extras = not_files(app); !extras.empty()) return refuse_unexpected(extras, arguments);
  if (version->parsed()) return version_command();
  if (help->parsed()) return help_command(app, flags, topic);
  for (const command& one : commands)
    if (one.parsed_by->parsed()) return run_for_outboxes(one, flags, outbox);
  return refuse("no command given; see `outboxd --help`");
}

}  // namespace outboxd::app

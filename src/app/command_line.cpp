#include "app/command_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>

#include "app/commands.hpp"
#include "app/migrations.hpp"
#include "app/setting_keys.hpp"

namespace outboxd::app {
namespace {

constexpr const char* default_file = "/etc/outboxd/outboxd.toml";

struct flag {
  std::string key;
  std::string name;
  std::string value;
  CLI::Option* option = nullptr;
};

struct command_line {
  std::deque<flag> flags;  // CLI11 keeps pointers to the values
  std::string file;
  migrate_options migrate;
};

void add_flag(CLI::App& app, command_line& line, std::string key, std::string name, const std::string& help) {
  flag& one = line.flags.emplace_back(flag{std::move(key), std::move(name), {}, nullptr});
  const std::string names = one.key == "outbox.schema" ? "--schema," + one.name : one.name;
  one.option = app.add_option(names, one.value, help)->type_name("")->group("Settings")->take_last();
}

void add_flags(CLI::App& app, command_line& line) {
  app.add_option("--config", line.file, fmt::format("TOML file; {} if there is one", default_file))
      ->type_name("FILE");
  for (const setting_key& one : setting_keys) {
    const auto fallback = one.fallback.empty() ? std::string() : fmt::format(" [{}]", one.fallback);
    add_flag(app, line, one.key(), one.flag(), std::string(one.help) + fallback);
    if (one.secret)
      add_flag(app, line, one.key() + "_file", one.flag() + "-file",
               "a file that holds it; read again at each reconnect");
  }
}

result<raw_settings> gather(const command_line& line) {
  raw_settings flags;
  for (const flag& one : line.flags)
    if (one.option->count() > 0) flags[one.key] = {one.value, fmt::format("flag {}", one.name)};
  auto environment = read_environment(environ);
  if (!environment) return environment;
  raw_settings all = merge(std::move(flags), *environment);
  const bool given = !line.file.empty();
  if (!given && ::access(default_file, F_OK) != 0) return all;
  auto file = read_file(given ? line.file : default_file);
  if (!file) return file;
  return merge(std::move(all), *file);
}

int refuse(std::string_view message) {
  say_error(message);
  return exit_usage;
}

constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

// What may be shown of an argument that CLI11 does not know: "--databse-url" of "--databse-url=…". Anything else may
// be the value of a misspelled flag, and a secret.
std::string unknown_flag(std::string_view argument) {
  constexpr std::string_view dashes = "--";
  if (!argument.starts_with(dashes)) return {};
  const auto end = std::find_if(argument.begin() + dashes.size(), argument.end(), [](char c) {
    return letters.find(c) == std::string_view::npos && c != '-' && c != '_';
  });
  return {argument.begin(), end};
}

// --relay-batch-bytes → relay.batch_bytes
std::string key_of_flag(std::string_view flag) {
  std::string words(flag.substr(2));
  std::replace(words.begin(), words.end(), '-', '_');
  return key_of_words(words);
}

int refuse_extras(const std::vector<std::string>& extras) {
  for (const std::string& one : extras) {
    const auto flag = unknown_flag(one);
    if (flag.empty()) continue;
    const auto nearest = nearest_setting(key_of_flag(flag));
    return refuse(
        fmt::format("unknown flag '{}'; {}", flag,
                    nearest ? fmt::format("did you mean '{}'?", nearest->flag) : "see `outboxd --help`"));
  }
  return refuse("an argument that is not a flag was not expected; see `outboxd --help`");
}

// A word in the place of the command is shown; what follows a flag may be its value.
int refuse_command(const std::vector<std::string>& extras, std::string_view first) {
  if (extras.empty()) return refuse("no command given; see `outboxd --help`");
  if (extras.front() != first || first.find_first_not_of(letters) != std::string_view::npos)
    return refuse_extras(extras);
  return refuse(fmt::format("unknown command '{}'; see `outboxd --help`", first));
}

// CLI11's words quote arguments, but for a wrong number of them.
int refuse_command_line(const CLI::App& app, std::string_view first, const CLI::ParseError& wrong) {
  // Of all that could be missing, only the command is required.
  if (dynamic_cast<const CLI::RequiredError*>(&wrong) != nullptr)
    return refuse_command(app.remaining(), first);
  if (dynamic_cast<const CLI::ExtrasError*>(&wrong) != nullptr) return refuse_extras(app.remaining(true));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&wrong) != nullptr)
    return refuse(fmt::format("{}; see `outboxd --help`", wrong.what()));
  return refuse("a flag that takes no value was given one; see `outboxd --help`");
}

}  // namespace

void say_error(std::string_view message) {
  fmt::print(stderr, "outboxd: {}\n", message);
}

int version_command() {
  fmt::print("outboxd {}\n", OUTBOXD_VERSION);
  return exit_success;
}

int run_command_line(int argc, char** argv) {
  command_line line;
  CLI::App app("outboxd relays events from a transactional outbox in PostgreSQL to RabbitMQ.", "outboxd");
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(
      "Every setting is also a key of the file ([relay] lanes = 4) and a variable (OUTBOXD_RELAY_LANES=4);\n"
      "a flag beats the environment, the environment beats the file.");
  add_flags(app, line);
  CLI::App* run = app.add_subcommand("run", "relay until told to stop");
  CLI::App* migrate = app.add_subcommand("migrate", "create the outbox or bring it up to date");
  CLI::App* version = app.add_subcommand("version", "print the version");
  migrate
      ->add_option("--payload", line.migrate.payload_type,
                   "type of the payload: jsonb, json, text or bytea [jsonb]")
      ->type_name("TYPE");
  migrate->add_flag("--print", line.migrate.print, "print the SQL and do nothing");
  migrate->add_flag("--no-notify", line.migrate.no_notify,
                    "without the trigger that notifies relays: they look by themselves");
  migrate->add_flag("--notify", line.migrate.notify, "with it, also if it was left out before");

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& wrong) {
    return refuse_command_line(app, argc > 1 ? argv[1] : "", wrong);
  }
  if (version->parsed()) return version_command();

  const auto raw = gather(line);
  if (!raw) return refuse(raw.error().message);
  const auto read = read_settings(*raw, run->parsed() ? purpose::relay : purpose::migration);
  if (!read) return refuse(read.error().message);
  if (run->parsed()) return run_command(*read);
  if (!line.migrate.payload_type.empty() && !parse_payload_type(line.migrate.payload_type))
    return refuse(fmt::format("--payload '{}' is not allowed; give jsonb, json, text or bytea",
                              line.migrate.payload_type));
  if (line.migrate.notify && line.migrate.no_notify)
    return refuse("--notify and --no-notify are both given; give one of them");
  return migrate_command(*read, line.migrate);
}

}  // namespace outboxd::app

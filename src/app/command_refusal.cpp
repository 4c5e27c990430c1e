#include "app/command_refusal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/command/outcome.hpp"
#include "app/config/setting_keys.hpp"

namespace outboxd::app {
namespace {

constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

bool is_word(std::string_view argument) {
  return !argument.empty() && argument.find_first_not_of(letters) == std::string_view::npos;
}

// The part of an unknown argument that may be shown: "--databse-url" of "--databse-url=…", "-v" of "-v9".
// Anything else may be the value of a misspelled flag, and therefore a secret.
std::string unknown_flag(std::string_view argument) {
  constexpr std::string_view dashes = "--";
  if (argument.starts_with('-') && is_word(argument.substr(1, 1))) return std::string(argument.substr(0, 2));
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

// Identifies the argument by its position; shows it only if everything before it is a command.
std::string stray_argument(const std::string& one, const std::vector<std::string>& arguments) {
  const auto at = std::find(arguments.begin(), arguments.end(), one);
  const auto place = std::distance(arguments.begin(), at) + 1;
  if (is_word(one) && std::all_of(arguments.begin(), at, is_word))
    return fmt::format("argument {} ('{}')", place, one);
  return fmt::format("argument {}", place);
}

// `outboxd --relay-lanes run` sets relay.lanes to "run" and names no command.
int refuse_without_command(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const auto is_named = [&](const CLI::App* one) { return one->get_name() == arguments[i]; };
    const auto flag = unknown_flag(arguments[i - 1]);
    if (!flag.empty() && !app.get_subcommands(is_named).empty())
      return refuse(fmt::format("no command given: '{}' is the value of '{}'; see `outboxd --help`",
                                arguments[i], flag));
  }
  return refuse("no command given; see `outboxd --help`");
}

// Shows a word in the place of the command, but not a word after a flag, which may be the flag's value.
int refuse_command(const CLI::App& app, const std::vector<std::string>& extras,
                   const std::vector<std::string>& arguments) {
  if (extras.empty()) return refuse_without_command(app, arguments);
  if (extras.front() != arguments.front() || !is_word(arguments.front()))
    return refuse_unexpected(extras, arguments);
  return refuse_unknown_command(arguments.front());
}

// Handles a missing required option, such as `outboxd route` without --event-type.
int refuse_without_option(const CLI::App& command) {
  std::string missing;
  for (const CLI::Option* one : command.get_options())
    if (missing.empty() && one->get_required() && one->count() == 0) missing = one->get_name();
  return refuse(fmt::format("'{0}' needs {1}; see `outboxd help {0}`", command.get_name(), missing));
}

// Handles an unknown subcommand, such as `outboxd events lsit`.
int refuse_subcommand(const CLI::App& group, const std::vector<std::string>& extras,
                      const std::vector<std::string>& arguments) {
  std::vector<std::string> known;
  for (const CLI::App* one : group.get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(one->get_name());
  if (known.empty()) return refuse_without_option(group);
  const auto choice = fmt::format("'{}' needs one of: {}", group.get_name(), fmt::join(known, ", "));
  if (extras.empty()) return refuse(choice);
  const bool second =
      arguments.size() > 1 && arguments[0] == group.get_name() && extras.front() == arguments[1];
  if (!second || !is_word(arguments[1])) return refuse_unexpected(extras, arguments);
  return refuse(fmt::format("unknown command '{} {}'; {}", group.get_name(), arguments[1], choice));
}

// CLI11's message is "--relay-lanes: 1 required missing", or says how many values were given.
int refuse_number_of_values(std::string_view words) {
  const auto flag = words.substr(0, words.find(':'));
  if (words.ends_with("missing")) return refuse_flag_without_value(flag);
  return refuse(fmt::format("flag '{}' is given more than once; see `outboxd --help`", flag));
}

// Finds the option with this name in the command or in one of its parents: each command has its own --json.
const CLI::Option* find_option(const std::vector<const CLI::App*>& commands, const std::string& name) {
  for (const CLI::App* command : commands)
    for (const CLI::Option* one : command->get_options())
      if (one->check_name(name)) return one;
  return nullptr;
}

}  // namespace

int refuse_unexpected(const std::vector<std::string>& extras, const std::vector<std::string>& arguments) {
  for (const std::string& one : extras) {
    const auto flag = unknown_flag(one);
    if (flag.empty()) continue;
    const auto nearest = nearest_setting(key_of_flag(flag));
    return refuse(
        fmt::format("unknown flag '{}'; {}", flag,
                    nearest ? fmt::format("did you mean '{}'?", nearest->flag) : "see `outboxd --help`"));
  }
  return refuse(fmt::format("{} is not a flag and was not expected; see `outboxd --help`",
                            stray_argument(extras.front(), arguments)));
}

int refuse_unknown_command(std::string_view name) {
  if (!is_word(name)) return refuse("unknown command; see `outboxd --help`");
  return refuse(fmt::format("unknown command '{}'; see `outboxd --help`", name));
}

std::optional<std::string> flag_without_value(const CLI::App& app,
                                              const std::vector<std::string>& arguments) {
  std::vector<const CLI::App*> commands{&app};
  for (std::size_t i = 1; i < arguments.size() && arguments[i - 1] != "--"; ++i) {
    const auto& word = arguments[i - 1];
    const auto named =
        commands.back()->get_subcommands([&](const CLI::App* one) { return one->get_name() == word; });
    if (!named.empty()) commands.push_back(named.front());
    const auto* const flag = find_option(commands, word);
    const auto next = arguments[i].substr(0, arguments[i].find('='));
    if (flag != nullptr && flag->get_items_expected_max() > 0 && find_option(commands, next) != nullptr)
      return word;
  }
  return std::nullopt;
}

int refuse_flag_without_value(std::string_view flag) {
  return refuse(fmt::format("flag '{}' needs a value; see `outboxd --help`", flag));
}

// CLI11's messages quote arguments, except those about a wrong number of arguments.
int refuse_command_line(const CLI::App& app, const std::vector<std::string>& arguments,
                        const CLI::ParseError& wrong) {
  // Only a command can be missing, because no option is required.
  if (dynamic_cast<const CLI::RequiredError*>(&wrong) != nullptr) {
    const auto given = app.get_subcommands();
    const auto extras = app.remaining(true);
    return given.empty() ? refuse_command(app, extras, arguments)
                         : refuse_subcommand(*given.front(), extras, arguments);
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&wrong) != nullptr)
    return refuse_unexpected(app.remaining(true), arguments);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&wrong) != nullptr)
    return refuse_number_of_values(wrong.what());
  return refuse("a flag that takes no value was given one; see `outboxd --help`");
}

}  // namespace outboxd::app

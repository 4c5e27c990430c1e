#include "app/command_refusal.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/commands.hpp"
#include "app/setting_keys.hpp"

namespace outboxd::app {
namespace {

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

bool is_word(std::string_view argument) {
  return !argument.empty() && argument.find_first_not_of(letters) == std::string_view::npos;
}

// A word in the place of the command is shown; what follows a flag may be its value.
int refuse_command(const std::vector<std::string>& extras, const std::vector<std::string>& arguments) {
  if (extras.empty()) return refuse("no command given; see `outboxd --help`");
  if (extras.front() != arguments.front() || !is_word(arguments.front())) return refuse_extras(extras);
  return refuse(fmt::format("unknown command '{}'; see `outboxd --help`", arguments.front()));
}

// The same for the second word, of a command that has several: `outboxd dead lsit`.
int refuse_subcommand(const CLI::App& group, const std::vector<std::string>& extras,
                      const std::vector<std::string>& arguments) {
  std::vector<std::string> known;
  for (const CLI::App* one : group.get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(one->get_name());
  const auto choice = fmt::format("'{}' needs one of: {}", group.get_name(), fmt::join(known, ", "));
  if (extras.empty()) return refuse(choice);
  const bool second =
      arguments.size() > 1 && arguments[0] == group.get_name() && extras.front() == arguments[1];
  if (!second || !is_word(arguments[1])) return refuse_extras(extras);
  return refuse(fmt::format("unknown command '{} {}'; {}", group.get_name(), arguments[1], choice));
}

}  // namespace

// CLI11's words quote arguments, but for a wrong number of them.
int refuse_command_line(const CLI::App& app, const std::vector<std::string>& arguments,
                        const CLI::ParseError& wrong) {
  // Of all that could be missing, only commands are required.
  if (dynamic_cast<const CLI::RequiredError*>(&wrong) != nullptr) {
    const auto given = app.get_subcommands();
    const auto extras = app.remaining(true);
    return given.empty() ? refuse_command(extras, arguments)
                         : refuse_subcommand(*given.front(), extras, arguments);
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&wrong) != nullptr) return refuse_extras(app.remaining(true));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&wrong) != nullptr)
    return refuse(fmt::format("{}; see `outboxd --help`", wrong.what()));
  return refuse("a flag that takes no value was given one; see `outboxd --help`");
}

}  // namespace outboxd::app

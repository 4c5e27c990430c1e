// command_set: the commands, each with its options and the function that runs it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/config/settings.hpp"

namespace outboxd::app {

// How many outboxes a command works on, if several are configured.
enum class scope {
  process,  // the command does not concern a single outbox
  one,
  any,  // one outbox, or all of them one after another
};

struct command {
  CLI::App* parsed_by;
  purpose what_for;                         // which settings it needs
  std::function<int(const settings&)> run;  // returns the exit status
  scope of = scope::any;
};

using command_set = std::vector<command>;

// An option whose text may be empty: with a std::optional in add_option, an empty text would look like a
// missing option. `value` must outlive the parsing.
inline CLI::Option* add_text(CLI::App& to, const char* name, std::optional<std::string>& value,
                             const std::string& help) {
  return to.add_option_function<std::string>(
      name, [&value](const std::string& given) { value = given; }, help);
}

}  // namespace outboxd::app

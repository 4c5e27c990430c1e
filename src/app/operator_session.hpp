// operator_session: the outbox as an operator's command sees it: statements, and errors that say what to do.
#pragma once

#include <string>
#include <vector>

#include "app/selection.hpp"
#include "app/settings.hpp"
#include "pg/blocking_session.hpp"

namespace outboxd::app {

// Why a command ends early, and its exit status.
struct command_failure {
  int status;
  std::string message;
};
template <class T>
using outcome = tl::expected<T, command_failure>;

tl::unexpected<command_failure> usage_failure(std::string message);
tl::unexpected<command_failure> run_failure(std::string message);

// Says it in one line and returns the exit status.
int report(const command_failure& why);

class operator_session {
 public:
  // `command` is what the server shows as the application's name: "outboxd dead list".
  static outcome<operator_session> open(const settings& from, const std::string& command);

  // {0} in the statement is the schema, quoted.
  outcome<pg::rows> execute(std::string_view sql, const std::vector<std::string>& parameters = {});

  // Times in UTC. `flag`: for the message.
  outcome<std::string> resolve_time(std::string_view flag, const std::string& text);
  outcome<selectors> resolve(selectors given);

 private:
  explicit operator_session(const pg::schema_name& schema) : schema_(schema) {}
  command_failure refusal_of(const pg::refusal& why) const;

  pg::schema_name schema_;
  pg::blocking_session session_;
};

}  // namespace outboxd::app

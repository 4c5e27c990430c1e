// operator_session: the outbox as an operator's command sees it: statements, and errors that say what to do.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "app/command/outcome.hpp"
#include "app/config/settings.hpp"
#include "app/operate/selection.hpp"
#include "pg/blocking_session.hpp"

namespace outboxd::app {

class operator_session {
 public:
  // `command` is what the server shows as the application's name: "outboxd events list". `from` has to
  // outlive it.
  static outcome<operator_session> open(const settings& from, const std::string& command);

  // Opened in the same way.
  outcome<operator_session> another() const { return open(*from_, command_); }

  const pg::schema_name& schema() const { return schema_; }

  // {0} in the statement is the schema, quoted.
  outcome<pg::rows> execute(std::string_view sql, const std::vector<std::string>& parameters = {});

  // A statement of sql/status by its name, in short: it waits for no lock and for no long look. The one cell
  // of each of its rows; or of the first one, if it has any.
  outcome<std::vector<std::string>> ask_all(std::string_view statement,
                                            const std::vector<std::string>& parameters = {});
  outcome<std::optional<std::string>> ask(std::string_view statement,
                                          const std::vector<std::string>& parameters = {});
  outcome<void> look_only();  // before the first of them

  // Opens the row of outbox.audit of a command that changes events, and returns its id. `what`: see
  // sql/objects/operator.sql.
  outcome<std::string> begin_audit(std::string_view what, const std::string& selection,
                                   const std::optional<std::string>& reason);

  // Times in UTC. `flag`: for the message. A duration counts back from now, or ahead.
  enum class counted { back, ahead };
  outcome<std::string> resolve_time(std::string_view flag, const std::string& text,
                                    counted durations = counted::back);
  outcome<selectors> resolve(selectors given);

 private:
  operator_session(const settings& from, std::string command);
  // `parameters`: of the statement.
  command_failure refusal_of(const pg::refusal& why, const std::vector<std::string>& parameters = {});
  // Behind PostgreSQL's words: what this user lacks, and the statement that gives it.
  std::string lacks(const std::string& words);

  const settings* from_;
  std::string command_;
  pg::schema_name schema_;
  std::chrono::milliseconds clock_tolerance_;
  pg::blocking_session session_;
};

}  // namespace outboxd::app

// operator_session: a command's session with the outbox: runs statements, and turns errors into advice.
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
  // `command` is the application_name that the server shows, such as "outboxd events list". `from` must
  // outlive the session.
  static outcome<operator_session> open(const settings& from, const std::string& command);

  // Opens another session with the same settings.
  outcome<operator_session> another() const { return open(*from_, command_); }

  const pg::schema_name& schema() const { return schema_; }

  // {0} in the statement stands for the quoted schema name.
  outcome<pg::rows> execute(std::string_view sql, const std::vector<std::string>& parameters = {});

  // Runs the statement of sql/status with this name. It fails early instead of waiting for a lock or a slow
  // query. ask_all returns the single cell of every row, and ask that of the first row, if there is one.
  outcome<std::vector<std::string>> ask_all(std::string_view statement,
                                            const std::vector<std::string>& parameters = {});
  outcome<std::optional<std::string>> ask(std::string_view statement,
                                          const std::vector<std::string>& parameters = {});
  outcome<void> look_only();  // call it before the first of these

  // Opens the row of outbox.audit for a command that changes events, and returns its id. `what`: see
  // sql/objects/operator.sql.
  outcome<std::string> begin_audit(std::string_view what, const std::string& selection,
                                   const std::optional<std::string>& reason);

  // Resolves a time to UTC. `flag` is named in the error message. A duration is relative to now, in the past
  // or in the future.
  enum class counted { back, ahead };
  outcome<std::string> resolve_time(std::string_view flag, const std::string& text,
                                    counted durations = counted::back);
  outcome<selectors> resolve(selectors given);

 private:
  operator_session(const settings& from, std::string command);
  // `parameters`: those of the refused statement.
  command_failure refusal_of(const pg::refusal& why, const std::vector<std::string>& parameters = {});
  // A suffix for PostgreSQL's message: the right that this user lacks, and the statement that grants it.
  std::string lacks(const std::string& words);

  const settings* from_;
  std::string command_;
  pg::schema_name schema_;
  std::chrono::milliseconds clock_tolerance_;
  pg::blocking_session session_;
};

}  // namespace outboxd::app

// operator_desk: the operator's commands, run as a user who has outbox_operator and nothing else.
#pragma once

#include <nlohmann/json.hpp>

#include "login.hpp"
#include "stage.hpp"

namespace outboxd::test {

class operator_desk {
 public:
  explicit operator_desk(const stage& on) : variables_{on.variables()} {
    variables_["OUTBOXD_DATABASE_URL"] = user_.url(on);
    variables_.erase("OUTBOXD_AMQP_URL");
  }

  const environment& variables() const { return variables_; }

  program_result run(const arguments& words) const { return run_outboxd(words, variables_); }

  /// What it printed; it has to exit with 0.
  std::string text(const arguments& words) const {
    const auto done = run(words);
    CHECK_MESSAGE(done.exited(0), done.text());
    return done.text();
  }

  /// The same with --json.
  nlohmann::json json(arguments words) const {
    words.push_back("--json");
    return nlohmann::json::parse(text(words));
  }

 private:
  login user_{"outbox_operator"};
  environment variables_;
};

/// Adds one event that is dead already and returns its id.
inline std::string add_dead(database& session, const stage& on, const std::string& aggregate = "1") {
  return session.value(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, exception,"
      " attempts, last_error)"
      " VALUES ('order', $1, $2, '{}', 'dead', 'dead', 3, 'the reason') RETURNING id",
      {aggregate, on.key()});
}

}  // namespace outboxd::test

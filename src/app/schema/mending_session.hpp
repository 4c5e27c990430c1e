// mending_session: the session of `migrate`, with error messages that explain what prevents a change.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "app/schema/differences.hpp"
#include "pg/blocking_session.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::app {

class mending_session {
 public:
  // Returns an error if the server is too old.
  result<void> open(const std::string& connection_string);
  result<pg::rows> execute(const std::string& sql);
  // True if another migration interfered: a lock attempt was abandoned, or the other migration has just
  // created the same role.
  bool met_others() const { return met_others_; }

  asking looks() {
    return [this](const std::string& sql) { return execute(sql); };
  }

  // Asks leaders to give up their leads for this session. See ask_leaders_to_yield.
  bool asks() const { return asks_; }
  result<void> ask(const pg::schema_name& schema);
  result<void> ask_no_more();

  // Creates the schema and the record of migrations if they are missing.
  result<void> make_record(const pg::schema_name& schema);

  // Repairs the differences in one part and returns them. Differences without a remedy are returned
  // unchanged. An error names the rejected statement and the users who may run it.
  result<std::vector<difference>> mend(std::string_view part, const pg::schema_name& schema,
                                       const outbox_shape& shape);

 private:
  error obstacle(const std::vector<difference>& all, std::size_t which, const std::string& owner) const;

  pg::blocking_session session_;
  pg::refusal latest_;
  bool met_others_ = false;
  std::string user_, database_;
  // Chooses a random key for the lock that requests leads, so that no session can hold it beforehand.
  std::random_device device_;
  int request_key_ = store::request_key + std::uniform_int_distribution(0, 1'000'000'000)(device_);
  bool asks_ = false;
};

}  // namespace outboxd::app

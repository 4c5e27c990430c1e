// mending_session: the session of `migrate`, which says in words what stands in its way.
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
  // An error if the server is too old.
  result<void> open(const std::string& connection_string);
  result<pg::rows> execute(const std::string& sql);
  // Another migration interfered: a lock was given up, or the other migration has just created the same role.
  bool met_others() const { return met_others_; }

  asking looks() {
    return [this](const std::string& sql) { return execute(sql); };
  }

  // Leaders give up their leads for a session that asks. See ask_leaders_to_yield.
  bool asks() const { return asks_; }
  result<void> ask(const pg::schema_name& schema);
  result<void> ask_no_more();

  // Creates the schema and the record of migrations if they are missing.
  result<void> make_record(const pg::schema_name& schema);

  // Mends the differences in one part and returns them. Differences without a remedy are returned unchanged.
  // An error names the refused statement and who may run it.
  result<std::vector<difference>> mend(std::string_view part, const pg::schema_name& schema,
                                       const outbox_shape& shape);

 private:
  error obstacle(const std::vector<difference>& all, std::size_t which, const std::string& owner) const;

  pg::blocking_session session_;
  pg::refusal latest_;
  bool met_others_ = false;
  std::string user_, database_;
  // Picks the lock that asks for leads at random, so that nobody else can hold it beforehand.
  std::random_device device_;
  int request_key_ = store::request_key + std::uniform_int_distribution(0, 1'000'000'000)(device_);
  bool asks_ = false;
};

}  // namespace outboxd::app

// mending_session: the session of `migrate`, and what is in its way, in words.
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
  // Ours is not the only migration: a lock was given up, or another one has made the same role just now.
  bool met_others() const { return met_others_; }

  asking looks() {
    return [this](const std::string& sql) { return execute(sql); };
  }

  // Leaders make way for a session that asks, see ask_leaders_to_yield.
  bool asks() const { return asks_; }
  result<void> ask(const pg::schema_name& schema);
  result<void> ask_no_more();

  // Where the schema and the record of migrations are not there, makes them.
  result<void> make_record(const pg::schema_name& schema);

  // Mends the differences of one part, and returns them; those without a remedy are returned as they are. An
  // error names the statement that is refused, and who may run it.
  result<std::vector<difference>> mend(std::string_view part, const pg::schema_name& schema,
                                       const outbox_shape& shape);

 private:
  error obstacle(const std::vector<difference>& all, std::size_t which, const std::string& owner) const;

  pg::blocking_session session_;
  pg::refusal latest_;
  bool met_others_ = false;
  std::string user_, database_;
  // Nobody else can have taken the lock by which it asks for leads: nobody knows which it will be.
  std::random_device device_;
  int request_key_ = store::request_key + std::uniform_int_distribution(0, 1'000'000'000)(device_);
  bool asks_ = false;
};

}  // namespace outboxd::app

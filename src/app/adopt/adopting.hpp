// adopting: one transaction that creates or removes an adoption, with short lock attempts that are retried.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "app/adopt/adoption_sql.hpp"
#include "app/operate/operator_session.hpp"
#include "pg/blocking_session.hpp"

namespace outboxd::app {

// The error of a failed statement, with the server's message unless that could quote a row.
command_failure refusal_of(const pg::refusal& why);

class adopting {
 public:
  using words = std::function<void(const std::string&)>;
  adopting(pg::blocking_session& session, words say) : session_(session), say_(std::move(say)) {}

  // Begins the transaction. Only one adoption runs at a time.
  outcome<void> begin();
  // All further statements run as this role.
  outcome<void> become(const std::string& owner);
  outcome<void> remove(const source_table& table);
  // Returns the number of rows copied from the backlog; nullopt if the backlog was not requested.
  outcome<std::int64_t> make(const adoption& what, bool takes_backlog);
  outcome<void> commit();

 private:
  outcome<pg::rows> execute(const std::string& sql);
  // Runs all of these statements under the lock, or none of them, and retries while other sessions hold the
  // table. Returns the number of rows affected by the last statement.
  outcome<std::int64_t> under_lock(const source_table& table, const std::vector<std::string>& statements);
  std::string lock_holders(const source_table& table);

  pg::blocking_session& session_;
  words say_;
};

}  // namespace outboxd::app

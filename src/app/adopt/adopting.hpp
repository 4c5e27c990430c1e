// adopting: one transaction that makes or ends an adoption, with short locks that are tried again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "app/adopt/adoption_sql.hpp"
#include "app/operate/operator_session.hpp"
#include "pg/blocking_session.hpp"

namespace outboxd::app {

// The error of a statement: what failed, in the server's words unless they may quote a row.
command_failure refusal_of(const pg::refusal& why);

class adopting {
 public:
  using words = std::function<void(const std::string&)>;
  adopting(pg::blocking_session& session, words say) : session_(session), say_(std::move(say)) {}

  // Begins the transaction. One adoption at a time.
  outcome<void> begin();
  // From here on everything is done by this role.
  outcome<void> become(const std::string& owner);
  outcome<void> remove(const source_table& table);
  // Returns how many rows of the backlog were taken; none if it is not asked for.
  outcome<std::int64_t> make(const adoption& what, bool takes_backlog);
  outcome<void> commit();

 private:
  outcome<pg::rows> execute(const std::string& sql);
  // All of these statements with the lock, or none; again and again while others hold the table. Returns how
  // many rows the last one has met.
  outcome<std::int64_t> under_lock(const source_table& table, const std::vector<std::string>& statements);
  std::string lock_holders(const source_table& table);

  pg::blocking_session& session_;
  words say_;
};

}  // namespace outboxd::app

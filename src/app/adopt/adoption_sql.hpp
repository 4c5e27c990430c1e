// adoption_sql: the statements that create, remove and start an adoption. Pure.
#pragma once

#include <string>
#include <vector>

#include "app/adopt/column_fit.hpp"
#include "app/adopt/source_table.hpp"
#include "pg/schema_name.hpp"

namespace outboxd::app {

struct adoption {
  source_table from;
  pg::schema_name outbox;
  std::vector<event_expression> event;
  std::vector<std::string> fits;      // conditions over NEW: rows that do not meet them are not copied
  bool passes_twins = false;          // a row whose id the outbox has already stays, and is not copied
  std::string where;                  // the user's condition over NEW; empty: none
  bool keeps = false;                 // rows stay in the user's table
  std::vector<std::string> order_by;  // columns, for the backlog; ctid: physical order
};

// Takes the lock that the following statements need: it excludes writers with open transactions and new
// writers.
std::string lock_statement(const source_table& table);

// Removes the objects of an adoption; does nothing if there is none.
std::string removal_statements(const source_table& table);

// Creates functions and triggers; none may exist. backlog_taken: when the backlog was copied, or empty.
std::string adoption_statements(const adoption& what, const std::string& backlog_taken);

// The backlog is copied in two passes: first the rows that exist before the lock is taken, so that writers
// continue meanwhile; then, under the lock, the rows added since. Empty: this pass is not needed.
struct backlog_statements {
  std::vector<std::string> before_lock;
  std::vector<std::string> under_lock;
};
// The row count of a pass's last statement is the number of rows copied.
backlog_statements backlog_of(const adoption& what);

}  // namespace outboxd::app

// adoption_sql: the statements that make, remove and begin an adoption. Pure.
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
  std::vector<std::string> order_by;  // columns, for the backlog; ctid: as they lie
};

// Takes the lock that the next statements need: no writer has an open transaction then, and none begins.
std::string lock_statement(const source_table& table);

// Takes away what an adoption has made; nothing if there is none.
std::string removal_statements(const source_table& table);

// Makes functions and triggers, where there are none. backlog_taken: when, or empty.
std::string adoption_statements(const adoption& what, const std::string& backlog_taken);

// The backlog has two passes: what is there before the lock is taken, so that writers go on meanwhile; and
// what has come since then, under the lock. Empty: this pass is not needed.
struct backlog_statements {
  std::vector<std::string> before_lock;
  std::vector<std::string> under_lock;
};
// The last statement of each pass meets the rows that it takes.
backlog_statements backlog_of(const adoption& what);

}  // namespace outboxd::app

// status_statements: the SQL of sql/status, for programs that inspect the outbox. Each statement returns one
// JSON object or no row.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include "pg/schema_name.hpp"

namespace outboxd::app {

// A file of sql/status: its name without the ending, and its text with placeholders. The build generates
// these.
struct status_text {
  std::string_view name;
  std::string_view sql;
};
std::span<const status_text> status_texts();

// The statement with its placeholders filled in. The name must exist. clock_tolerance: the relays' setting.
std::string status_statement(std::string_view name, const pg::schema_name& schema,
                             std::chrono::milliseconds clock_tolerance);

}  // namespace outboxd::app

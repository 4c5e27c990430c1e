// declared: what the files of sql/ make, for the queries of sql/state: there is no second list of it.
//
// The files are read by their lines, so they keep to a form. A statement that makes something begins with
// CREATE at the start of a line, and ends before the next one or an empty line outside of a function's body:
// COMMENT ON, ALTER TABLE and INSERT below it belong to it. In a table each column and constraint has a line
// of its own, with two blanks before it and none more; a column's clauses are NOT NULL, then DEFAULT or
// GENERATED, then REFERENCES. A migration that adds a column says ALTER TABLE ... ADD COLUMN IF NOT EXISTS.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/schema/migrations.hpp"

namespace outboxd::app {

// With its placeholders.
struct declaration {
  std::string kind;       // type, function, table, column, index or trigger
  std::string name;       // of a column: its table
  std::string statement;  // without comments, but for those in a function's body; of a column its definition
};

std::vector<declaration> declarations_in(std::string_view sql);

// Rows of VALUES.
struct declared {
  std::string objects;    // number, kind, name, place, statement, body, definer, settings, fires
  std::string columns;    // number, table, name, type, needed, default, identity, definition
  std::string functions;  // name, signature
  std::string tables;     // names
};

declared declared_by_all(const pg::schema_name& schema, const outbox_shape& shape);

}  // namespace outboxd::app

// declared: the statements of sql/ that make something. sql/state/declared.sql finds in them what the outbox
// is compared with, so there is no second list of it.
//
// The files are read by their lines, so they keep to a form. A statement that makes something begins with
// CREATE at the start of a line, and ends before the next one or an empty line outside of a function's body:
// COMMENT ON, ALTER TABLE and INSERT below it belong to it. In a table each column and constraint has a line
// of its own, behind two blanks; a column's clauses are NOT NULL, then one of DEFAULT, GENERATED and
// REFERENCES. A migration that adds a column says ALTER TABLE ... ADD COLUMN IF NOT EXISTS.
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

// What an outbox of this shape has.
std::vector<declaration> all_declarations(const outbox_shape& shape);

}  // namespace outboxd::app

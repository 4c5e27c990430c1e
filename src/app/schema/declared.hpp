// declared: the statements of sql/ that create something. sql/state/declared.sql extracts from them the
// objects that an outbox is compared with, so that there is no second list.
//
// The files are parsed line by line, so they keep to a form. A statement that creates something begins with
// CREATE at the start of a line. The statement ends before the next CREATE, or before an empty line outside
// of a function's body. The COMMENT ON, ALTER TABLE and INSERT below it belong to it. In a table, each column
// and each constraint has a line of its own, indented by two blanks. A column's clauses are NOT NULL, then
// one of DEFAULT, GENERATED and REFERENCES. A migration that adds a column says ALTER TABLE ... ADD COLUMN IF
// NOT EXISTS.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/schema/migrations.hpp"

namespace outboxd::app {

// A statement with its placeholders.
struct declaration {
  std::string kind;       // type, function, table, column, index or trigger
  std::string name;       // for a column, the name of its table
  std::string statement;  // without comments outside of function bodies; for a column, its definition
};

std::vector<declaration> declarations_in(std::string_view sql);

// All objects of an outbox of this shape.
std::vector<declaration> all_declarations(const outbox_shape& shape);

}  // namespace outboxd::app

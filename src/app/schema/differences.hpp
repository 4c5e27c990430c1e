// differences: where an outbox differs from the schema that `migrate` creates. `migrate` repairs the
// differences; `migrate --check` and `check` report them.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/schema/migrations.hpp"
#include "core/error.hpp"
#include "pg/rows.hpp"

namespace outboxd::app {

// Runs a query in the database.
using asking = std::function<result<pg::rows>(const std::string& sql)>;

struct difference {
  std::string what;
  std::string remedy;  // a statement that repairs it; empty if only a person can decide
  bool hurts = false;  // true if the relay needs the remedy, or if the difference grants somebody too many
                       // rights
};

// The parts that are compared and repaired, in this order, because each part depends on the parts before it.
// Each part is a file in sql/state; on_columns also uses objects.sql.
inline constexpr std::string_view on_columns = "on_columns";
inline constexpr std::array<std::string_view, 10> state_parts{
    "roles",  "leftovers",    "objects", "columns", on_columns,
    "owners", "row_security", "grants",  "rows",    "sequence"};

// The beginning of such a query: sql/state/declared.sql. Function bodies and table columns are omitted unless
// the query needs all of them.
std::string declared_objects(const pg::schema_name& schema, const outbox_shape& shape, bool needs_all);

// The query that finds the differences in one part.
std::string state_query(std::string_view part, const pg::schema_name& schema, const outbox_shape& shape);
result<std::vector<difference>> find_differences(const asking& ask, std::string_view part,
                                                 const pg::schema_name& schema, const outbox_shape& shape);

// The differences in all parts, as far as this user can see.
result<std::vector<difference>> find_all_differences(const asking& ask, const pg::schema_name& schema,
                                                     const outbox_shape& shape);

// The shape of an existing outbox. If rows of shards are missing, mend_shards still knows how many there
// were. If there is no table, the payload type is `otherwise`.
result<outbox_shape> shape_of(const asking& ask, const pg::schema_name& schema,
                              std::string_view otherwise = "jsonb");

// SQL that creates the roles and grants the rights in a schema that is otherwise complete.
std::string state_script(const pg::schema_name& schema, const outbox_shape& shape);

}  // namespace outboxd::app

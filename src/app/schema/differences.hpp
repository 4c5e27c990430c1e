// differences: where an outbox is not what `migrate` makes. `migrate` mends each, `migrate --check` and
// `check` name them.
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

// Asks the database, in words of SQL.
using asking = std::function<result<pg::rows>(const std::string& sql)>;

struct difference {
  std::string what;
  std::string remedy;  // a statement; empty: somebody has to decide
  bool hurts = false;  // the relay needs it, or it lets somebody do what he may not
};

// What is compared, and mended, in this order: each part needs those before it. Files of sql/state; that of
// on_columns is objects.sql, too.
inline constexpr std::string_view on_columns = "on_columns";
inline constexpr std::array<std::string_view, 10> state_parts{
    "roles",  "leftovers",    "objects", "columns", on_columns,
    "owners", "row_security", "grants",  "rows",    "sequence"};

// The query that finds the differences of one part.
std::string state_query(std::string_view part, const pg::schema_name& schema, const outbox_shape& shape);
result<std::vector<difference>> find_differences(const asking& ask, std::string_view part,
                                                 const pg::schema_name& schema, const outbox_shape& shape);

// All of them, as far as this user can look.
result<std::vector<difference>> find_all_differences(const asking& ask, const pg::schema_name& schema,
                                                     const outbox_shape& shape);

// What the outbox has, also when rows of shards are gone: mend_shards knows their number, too. If there is no
// table its payload has the type `otherwise`.
result<outbox_shape> shape_of(const asking& ask, const pg::schema_name& schema,
                              std::string_view otherwise = "jsonb");

// SQL that makes roles and rights, for a schema that has all else.
std::string state_script(const pg::schema_name& schema, const outbox_shape& shape);

}  // namespace outboxd::app

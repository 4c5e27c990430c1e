// column_fit: how a column of the user's table is converted to a field of an event, if its type allows it.
#pragma once

#include <string>

#include "app/adopt/mapping.hpp"
#include "app/adopt/source_table.hpp"
#include "core/event.hpp"

namespace outboxd::app {

// The event's fields and the expressions for them, over a row named NEW. All names in the expressions are
// schema-qualified, so the search_path does not matter.
struct event_expression {
  event_field field;
  std::string sql;
};
// payload: the outbox's payload type. The error names the column, its type, and the allowed types.
result<std::vector<event_expression>> fit_columns(const source_table& from, const column_mapping& mapping,
                                                  payload_type payload);

}  // namespace outboxd::app

// column_fit: how a column of the user's table becomes a field of an event, if its type allows it.
#pragma once

#include <string>

#include "app/adopt/mapping.hpp"
#include "app/adopt/source_table.hpp"
#include "core/event.hpp"

namespace outboxd::app {

// The event's fields and the expressions for them, over a row named NEW. Everything in them is named with its
// schema, so that no search_path matters.
struct event_expression {
  event_field field;
  std::string sql;
};
// payload: of the outbox. The error names the column, its type, and what is allowed.
result<std::vector<event_expression>> fit_columns(const source_table& from, const column_mapping& mapping,
                                                  payload_type payload);

}  // namespace outboxd::app

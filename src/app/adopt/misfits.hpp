// misfits: rows of the user's table that cannot become events, and how the user wants them handled.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/adopt/column_fit.hpp"
#include "app/adopt/mapping.hpp"
#include "app/adopt/source_table.hpp"
#include "core/error.hpp"
#include "core/event.hpp"
#include "pg/schema_name.hpp"

namespace outboxd::app {

enum class null_payload {
  skip,       // the row is not copied, and stays
  json_null,  // the body is the four letters null
  empty,      // the body has no bytes
  refuse,     // its INSERT fails
};

// Any other row that cannot become an event: an empty name, a payload that is not JSON, an id that is not a
// uuid or occurs twice, headers that are not an object.
enum class unfit_row {
  skip,    // the row is not copied, and stays; a row with a duplicate id is treated as copied
  refuse,  // its INSERT fails
};

struct misfit_decisions {
  null_payload payload = null_payload::refuse;
  unfit_row others = unfit_row::skip;
  bool asks_rows = false;  // no choice was made for other rows: required if the table has such rows
  std::vector<std::string> by_preset{};  // options that were left to the preset
};

// An option overrides the preset's choice. The error asks for the missing choices: those for values that the
// table's columns allow, but an event does not.
result<misfit_decisions> decide_misfits(const source_table& from, const column_mapping& mapping,
                                        payload_type payload, const misfit_options& given);

// A query that returns a row if there is a null or an empty text where an event needs a name; empty: no
// column can contain one.
std::string nameless_row_query(const source_table& from, const column_mapping& mapping);
std::string nameless_row_refusal(const source_table& from);

// The conditions over NEW that a row must meet to be copied, with schema-qualified names.
std::vector<std::string> fit_conditions(const source_table& from, const column_mapping& mapping,
                                        payload_type payload, const pg::schema_name& outbox,
                                        const misfit_decisions& decided);

// Replaces a null payload with the chosen body, if there is one.
void replace_null_payload(std::vector<event_expression>& event, payload_type payload, null_payload chosen);

}  // namespace outboxd::app

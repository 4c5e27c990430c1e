// misfits: rows of the user's table that cannot become events, and what the user wants to become of them.
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

// Any other row that cannot become an event: an empty name, a payload that is no JSON, an id that is no uuid
// or comes twice, headers that are no object.
enum class unfit_row {
  skip,    // the row is not copied, and stays; with an id that comes twice it is taken for copied
  refuse,  // its INSERT fails
};

struct misfit_decisions {
  null_payload payload = null_payload::refuse;
  unfit_row others = unfit_row::skip;
  bool asks_rows = false;                // nothing was chosen for others: to be, if the table has such rows
  std::vector<std::string> by_preset{};  // options that were left to the preset
};

// An option goes before the preset's choice. The error asks for what has to be chosen: what the table's
// columns allow, and an event does not.
result<misfit_decisions> decide_misfits(const source_table& from, const column_mapping& mapping,
                                        payload_type payload, const misfit_options& given);

// A query whose row tells that there is a null or an empty text where an event needs a name; empty: no column
// can have one.
std::string nameless_row_query(const source_table& from, const column_mapping& mapping);
std::string nameless_row_refusal(const source_table& from);

// What a row has to meet to be copied: conditions over NEW, named with their schemas.
std::vector<std::string> fit_conditions(const source_table& from, const column_mapping& mapping,
                                        payload_type payload, const pg::schema_name& outbox,
                                        const misfit_decisions& decided);

// Puts another body in the place of a payload that is null, if that was chosen.
void replace_null_payload(std::vector<event_expression>& event, payload_type payload, null_payload chosen);

}  // namespace outboxd::app

// event_rows: turns rows of events into what the flow works with, without copying their texts.
#pragma once

#include <vector>

#include "flow/store.hpp"
#include "pg/relay_statements.hpp"
#include "pg/rows.hpp"

namespace outboxd::pg {

// Rows without an id are heads, see sql/relay: they are left out here.
std::vector<flow::stored_event> read_events(const rows& from);

// The type of the payload column, by its oid; nothing if it is none that this version knows.
std::optional<payload_type> payload_type_of(Oid type);

}  // namespace outboxd::pg

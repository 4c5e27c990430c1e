// event_rows: turns rows of events into what the flow works with, without copying their texts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "flow/stream/store.hpp"
#include "pg/rows.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::store {

// Rows without an id are heads, see sql/relay: they are left out here.
std::vector<flow::stored_event> read_events(const pg::rows& from);

// What a head says; an empty object if that row is none.
nlohmann::json read_head(const pg::rows& from, int row);
// Of a head: null is nothing.
std::optional<std::int64_t> number_in(const nlohmann::json& head, const char* name);

// The type of the payload column, by its oid; nothing if it is none that this version knows.
std::optional<payload_type> payload_type_of(Oid type);

}  // namespace outboxd::store

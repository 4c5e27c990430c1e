// event_rows: checks an answer with events, and turns its rows into the flow's events without copying their
// texts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/event.hpp"
#include "flow/stream/store.hpp"
#include "pg/rows.hpp"

namespace outboxd::store {

// How it differs from an answer with events (heads first, then events); nullopt if it does not. Like misfit
// in pg/answer_shape.hpp. with_exceptions: for all statements but `read`, see event_column.
std::optional<std::string> misfit_of_events(const pg::rows& from, bool with_exceptions);

// Rows without an id are heads, see sql/relay: they are left out here.
std::vector<flow::stored_event> read_events(const pg::rows& from);

// The content of a head; an empty object if that row is none.
nlohmann::json read_head(const pg::rows& from, int row);
// Of a head: null is nothing.
std::optional<std::int64_t> number_in(const nlohmann::json& head, const char* name);

// The type of the payload column, by its oid; nullopt if this version does not know it.
std::optional<payload_type> payload_type_of(Oid type);

}  // namespace outboxd::store

// event_rows: checks an answer that contains events, and converts its rows to flow events without copying
// their texts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/event.hpp"
#include "flow/stream/store.hpp"
#include "pg/rows.hpp"

namespace outboxd::store {

// Returns how the answer differs from the expected shape (heads first, then events), or nullopt. Similar to
// misfit in pg/answer_shape.hpp. with_exceptions: for all statements except `read`, see event_column.
std::optional<std::string> misfit_of_events(const pg::rows& from, bool with_exceptions);

// Skips rows without an id, which are heads (see sql/relay).
std::vector<flow::stored_event> read_events(const pg::rows& from);

// Returns the content of a head; an empty object if the row is not a head.
nlohmann::json read_head(const pg::rows& from, int row);
// Returns a numeric field of the head, or nullopt if the field is null.
std::optional<std::int64_t> number_in(const nlohmann::json& head, const char* name);

// Returns the type of the payload column from its OID; nullopt if this version does not support that type.
std::optional<payload_type> payload_type_of(Oid type);

}  // namespace outboxd::store

// event_shape: what an answer with events has to look like, as pg/answer_shape.hpp has it of others.
#pragma once

#include <optional>
#include <string>

#include "pg/rows.hpp"

namespace outboxd::store {

// In what way it has another shape: heads first, then events. with_exceptions: of all statements but `read`,
// see event_column.
std::optional<std::string> misfit_of_events(const pg::rows& from, bool with_exceptions);

}  // namespace outboxd::store

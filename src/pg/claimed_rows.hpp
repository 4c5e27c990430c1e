// claimed_rows: turns the rows of a claim into a batch, without copying them.
#pragma once

#include "core/error.hpp"
#include "core/event.hpp"
#include "pg/rows.hpp"

namespace outboxd::pg {

// An error means that the columns are not those that this version of outboxd expects.
result<batch> read_claim(const rows& from);

}  // namespace outboxd::pg

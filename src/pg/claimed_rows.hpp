// claimed_rows: turns the rows of a claim into a batch, without copying them.
#pragma once

#include "core/error.hpp"
#include "core/event.hpp"
#include "pg/rows.hpp"

namespace outboxd::pg {

// payloads: the type of the table's column, for the rows have its text or octets. An error means that this version of outboxd does not know it.
result<batch> read_claim(Oid payloads, const rows& claimed);

}  // namespace outboxd::pg

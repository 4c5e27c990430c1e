// claimed_rows: turns the rows of a claim into a batch, without copying them.
#pragma once

#include "core/error.hpp"
#include "core/event.hpp"
#include "pg/rows.hpp"

namespace outboxd::pg {

// taken: the answer of take_shards, which tells what the payloads are. An error means that they are of a type that this version
// of outboxd does not know.
result<batch> read_claim(const rows& taken, const rows& claimed);

}  // namespace outboxd::pg

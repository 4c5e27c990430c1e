// barest_drain: what no relay can exceed where broker and database share a machine: the least that has to be
// done for each event, with nothing to keep order, to lock, or to check.
#pragma once

#include <cstdint>
#include <string>

#include "stage/setup.hpp"
#include "stage/stage.hpp"

namespace outboxd::bench {

// Call it before the table is filled. Here a page's events are all marked at once: with less room than for
// twice the rows, most marks would be no HOT updates.
void make_room_for_marks(stage& where);

// Reads the events after `seq`, as they go into messages, and marks them, `batch` at a time in one session,
// while a bare publisher sends as many messages over so many connections. Neither waits for the other.
// Returns events per second of the slower one. Throws when either fails.
double barest_drain(const setup& on, const stage& where, const std::string& queue_type,
                    std::int64_t after_seq, const filling& how, int connections, std::int64_t batch);

}  // namespace outboxd::bench

// barest_drain: an upper limit for any relay if broker and database share a machine: the minimum work per
// event, without ordering, locks or checks.
#pragma once

#include <cstdint>
#include <string>

#include "stage/setup.hpp"
#include "stage/stage.hpp"

namespace outboxd::bench {

// Call it before the table is filled. All events of a page are marked at once here, so without room for twice
// the rows, most marks would not be HOT updates.
void make_room_for_marks(stage& where);

// Reads the events after `seq` with all columns of a message and marks them, `batch` at a time in one
// session, while a bare publisher sends as many messages over the given number of connections. Neither waits
// for the other. Returns the events per second of the slower one. Throws if either fails.
double barest_drain(const setup& on, const stage& where, const std::string& queue_type,
                    std::int64_t after_seq, const filling& how, int connections, std::int64_t batch);

}  // namespace outboxd::bench

// partitions: partitions the outbox of a stage, and makes it look as old as its partitions.
#pragma once

#include "stage/setup.hpp"
#include "stage/stage.hpp"

namespace outboxd::bench {

// Creates this many partitions with one published event each; the last one is current, and two further
// partitions are ready. The relay must keep old events, so that the old partitions stay.
void partition(const setup& on, const stage& where, int in_use);

// Inserts as many published events into an outbox without partitions.
void leave_whole(const stage& where, int events);

}  // namespace outboxd::bench

// partitions: lets the outbox of a stage be partitioned, and be as old as its partitions say.
#pragma once

#include "stage/setup.hpp"
#include "stage/stage.hpp"

namespace outboxd::bench {

// One published event in each of so many partitions, the last of which is written to, and two are ready.
// Those of before are there to be looked into, so let the relay keep what is old.
void partition(const setup& on, const stage& where, int in_use);

// As many published events in an outbox that is not partitioned.
void leave_whole(const stage& where, int events);

}  // namespace outboxd::bench

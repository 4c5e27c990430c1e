// round_trips: the two round trips that no relay can be faster than, one after the other on an idle machine.
#pragma once

#include <vector>

#include "stage/setup.hpp"
#include "stage/stage.hpp"

namespace outboxd::bench {

// Milliseconds from the sending of a COMMIT, whose transaction wrote a row and notified, until another session has the
// notification.
std::vector<double> notify_round_trips(const stage& where, int count);

// Milliseconds from the publish of a persistent message of `size` bytes until a consumer has it.
std::vector<double> publish_round_trips(const setup& on, stage& where, int count, std::size_t size);

}  // namespace outboxd::bench

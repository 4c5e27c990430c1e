// round_trips: the two round trips that no relay can be faster than, one after the other on an idle machine.
#pragma once

#include <chrono>
#include <vector>

#include "stage/setup.hpp"
#include "stage/stage.hpp"

namespace outboxd::bench {

// Milliseconds from the sending of a COMMIT, whose transaction wrote a row and notified, until another
// session has the notification.
std::vector<double> notify_round_trips(const stage& where, int count);

// Milliseconds from the publish of a persistent message of `size` bytes until a consumer has it.
std::vector<double> publish_round_trips(const setup& on, stage& where, int count, std::size_t size);

// Milliseconds of both in a row, one such pair after every so long: what a relay could reach that neither
// reads nor marks anything. It is more than the sum of the two above, for in between the servers and the
// cores go to sleep, and the caches to others.
std::vector<double> paced_round_trips(const setup& on, stage& where, int count, std::size_t size,
                                      std::chrono::microseconds every);

}  // namespace outboxd::bench

// round_trips: the two round trips, one after the other on an idle machine, which are a lower limit for any
// relay's latency.
#pragma once

#include <chrono>
#include <vector>

#include "stage/setup.hpp"
#include "stage/stage.hpp"

namespace outboxd::bench {

// Milliseconds from sending the COMMIT of a transaction that wrote a row and notified until another session
// has received the notification.
std::vector<double> notify_round_trips(const stage& where, int count);

// Milliseconds from publishing a persistent message of `size` bytes until a consumer has received it.
std::vector<double> publish_round_trips(const setup& on, stage& where, int count, std::size_t size);

// Milliseconds of both in sequence, one such pair per interval: the latency of a relay that neither reads nor
// marks. It exceeds the sum of the two above, because in between the servers and the cores go to sleep and
// caches are evicted.
std::vector<double> paced_round_trips(const setup& on, stage& where, int count, std::size_t size,
                                      std::chrono::microseconds every);

}  // namespace outboxd::bench

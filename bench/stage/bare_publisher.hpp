// bare_publisher: the broker's own limit: the same messages through the AMQP driver alone.
#pragma once

#include <cstdint>
#include <string>

#include "stage/setup.hpp"

namespace outboxd::bench {

// Runs the publisher and returns its confirms per second. Throws when it fails.
double bare_publisher(const setup& on, const std::string& queue_type, std::int64_t messages,
                      std::int64_t size, int connections);

}  // namespace outboxd::bench

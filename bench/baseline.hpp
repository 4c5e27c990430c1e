// baseline: the broker's own limit: the same messages through the AMQP driver alone.
#pragma once

#include <cstdint>
#include <string>

namespace outboxd::bench {

// Runs the publisher's binary and returns its confirms per second. Throws when it fails.
double bare_publisher(const std::string& binary, const std::string& queue_type, std::int64_t messages,
                      std::int64_t size, int connections);

}  // namespace outboxd::bench

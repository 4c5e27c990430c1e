// metrics: what a relay tells of itself, in Prometheus' text format.
#pragma once

#include <string>
#include <vector>

#include "app/daemon/relay_host.hpp"

namespace outboxd::app {

// Names and meanings: docs/metrics.md. Figures of the table are there while this relay samples
// it. Samples of an outbox with a name have the label outbox.
std::string to_metrics(const std::vector<outbox_view>& from);

}  // namespace outboxd::app

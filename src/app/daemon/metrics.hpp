// metrics: the metrics of a relay in Prometheus' text format.
#pragma once

#include <string>
#include <vector>

#include "app/daemon/relay_host.hpp"

namespace outboxd::app {

// docs/metrics.md lists the names and meanings. Metrics of the table are present while this relay samples it.
// Samples of a named outbox have the label `outbox`.
std::string to_metrics(const std::vector<outbox_view>& from);

}  // namespace outboxd::app

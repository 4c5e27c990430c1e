// metrics: what a relay tells of itself, in Prometheus' text format.
#pragma once

#include <string>

#include "relay/figures.hpp"

namespace outboxd::app {

// Names and meanings: docs/metrics.md. Figures of the table are there while this relay samples
// it.
std::string to_metrics(const relay::relay_figures& from);

}  // namespace outboxd::app

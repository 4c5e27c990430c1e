// figures: statistics over the rounds of a measurement.
#pragma once

#include <vector>

namespace outboxd::bench {

struct spread {
  double least = 0;
  double median = 0;
  double most = 0;
};

// Requires at least one value.
spread spread_of(std::vector<double> values);

// part: 0 to 1, so 0.99 is the 99th percentile. Requires at least one value.
double percentile(std::vector<double> values, double part);

}  // namespace outboxd::bench

// beside: alternates the same drain on two tables, one of which also contains other events.
#pragma once

#include <string>
#include <vector>

#include "report/report.hpp"
#include "stage/drain.hpp"

namespace outboxd::bench {

struct beside_options {
  filling fill;
  int rounds = 3;
  std::vector<std::string> relay_flags;
  std::vector<std::string> crowded_flags = {};  // additional flags for the second table
};

// The compared rate.
enum class measure {
  warm,  // the rate during the drain
  cold,  // measured from the start of a relay without a saved position
};

// Runs rounds on both tables, alternating which goes first; the sections and the plot use these names.
// Returns the median of the rounds' ratios, crowded to bare.
double drain_beside(const setup& on, report& out, stage& bare, const std::string& bare_name, stage& crowded,
                    const std::string& crowded_name, const beside_options& how, measure what = measure::warm);

}  // namespace outboxd::bench

// beside: the same drain on two tables in turn, one of which has something beside the events to be drained.
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
  std::vector<std::string> crowded_flags = {};  // besides, on the second table
};

// What is compared.
enum class measure {
  warm,  // the rate while it drains
  cold,  // from the start of a relay that knows nothing of the table
};

// Rounds on both tables, changing which one goes first; the sections and the plot carry these names. Returns
// the median of the rounds' ratios: crowded over bare.
double drain_beside(const setup& on, report& out, stage& bare, const std::string& bare_name, stage& crowded,
                    const std::string& crowded_name, const beside_options& how, measure what = measure::warm);

}  // namespace outboxd::bench

// round: some faults, one after another, on a rig of their own, and what is to be said of each.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "faults.hpp"

namespace outboxd::cluster {

struct figures {
  std::string fault;
  micros recovery = 0;  // the longest that an event was open while it could have been published
  micros gap = 0;       // the longest that there was no leader of the queue, or no primary
};

struct round_result {
  std::vector<figures> of_faults;
  std::vector<std::string> wrong;
};

/// Prints a line for each fault.
round_result run_round(rabbit_cluster& all, const rig_settings& how, const std::vector<const fault*>& faults);

/// How often, median and worst recovery, for each kind of fault.
std::string table_of(const std::vector<figures>& all);

}  // namespace outboxd::cluster

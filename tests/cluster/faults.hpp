// faults: what may happen to the cluster and to the database, each healed again before its function returns.
#pragma once

#include <random>
#include <span>
#include <string>

#include "rig.hpp"

namespace outboxd::cluster {

struct fault {
  std::string name;
  void (*happen)(rig& on, std::mt19937_64& random);
  bool is_last;  // nothing else can follow on this rig
};

std::span<const fault> all_faults();
/// Throws std::runtime_error if there is none.
const fault& find_fault(const std::string& name);

}  // namespace outboxd::cluster

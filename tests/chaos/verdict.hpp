// verdict: the fourteen invariants of a run, over its whole history.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "injector.hpp"
#include "monitor.hpp"
#include "support/history.hpp"
#include "writers.hpp"

namespace outboxd::chaos {

struct evidence {
  written by_writers;
  std::vector<test::committed_event> table;
  std::map<std::string, reason> reasons;  // of dead events
  const test::history& deliveries;
  sightings seen;
  std::vector<injection> faults;
  std::vector<std::string> violations;  // found on the way
  bool any_pace = false;                // how long something takes proves nothing
  std::size_t in_flight = 0;            // of all leaders together: what they have read and not settled
  std::optional<std::unordered_set<std::string>> letters;  // ids of all dead letters, if there were to be any
  std::chrono::milliseconds given_up_after{
      0};  // from the first failure of an event that its destination does not take
  std::vector<std::pair<std::int64_t, std::int64_t>> unordered_seqs{};  // see arena::note_unordered
  std::unordered_set<std::string> changed{};                            // see arena::note_changed
};

struct verdict {
  std::vector<std::string> violations;  // the relay is wrong
  std::vector<std::string> doubts;      // the run proves nothing
  std::vector<std::string> delays;      // took too long, and may do so on this machine
  std::string summary;
};

verdict judge(const evidence& from, surroundings& all);

}  // namespace outboxd::chaos

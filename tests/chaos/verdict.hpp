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
  std::map<std::string, reason> reasons;  // reasons of dead events
  const test::history& deliveries;
  sightings seen;
  std::vector<injection> faults;
  std::vector<std::string> violations;  // found during the run
  bool any_pace = false;                // durations do not affect the verdict
  std::size_t in_flight = 0;            // events that all leaders together may have read and not settled
  std::optional<std::unordered_set<std::string>>
      letters;  // ids of all dead letter messages, if they are enabled
  std::chrono::milliseconds given_up_after{
      0};  // from the first failure of an event whose destination does not accept it
  std::vector<std::pair<std::int64_t, std::int64_t>> unordered_seqs{};  // see arena::note_unordered
  std::unordered_set<std::string> changed{};                            // see arena::note_changed
};

struct verdict {
  std::vector<std::string> violations;  // the relay is faulty
  std::vector<std::string> doubts;      // the run proves nothing
  std::vector<std::string> delays;      // took too long, which is allowed on this machine
  std::string summary;
};

verdict judge(const evidence& from, surroundings& all);

}  // namespace outboxd::chaos

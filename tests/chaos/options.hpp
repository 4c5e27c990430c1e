// options: the command line of outboxd_chaos.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "schedule.hpp"
#include "shape.hpp"

namespace outboxd::chaos {

struct options {
  std::uint64_t seed = 1;
  std::chrono::seconds length{60};
  shape form;  // from the seed, unless the command line overrides it
  int writers = 4;
  int outboxes = 1;  // that each process relays: the run's own, and others on servers without faults
  int aggregates = 400;
  std::filesystem::path logs = "chaos-logs";
  std::filesystem::path outboxd = OUTBOXD_BINARY;
  bool print_schedule = false;
  /// The file to which the times of takeovers are appended; empty: none.
  std::filesystem::path takeovers;
  /// Print the summary of such a file instead of a run; empty: do a run.
  std::filesystem::path histogram;
  /// Relays also end themselves at named points of their code.
  bool failpoints = false;
  /// A violation made on purpose, which the checker must find: lost, phantom, marked, overtaken; empty: none.
  std::string sabotage;
  /// The duration of one long broker outage that replaces the random schedule; zero: none.
  std::chrono::seconds outage{0};
  /// For a machine that may be slow: durations are reported, but do not affect the verdict.
  bool any_pace = false;
  /// Only these faults; empty: all.
  std::vector<std::string> only;

  schedule_options plan() const {
    return {.seed = seed, .length = length, .relays = form.relays, .guests = form.guests};
  }
  /// The command line that repeats this run.
  std::string command() const;
};

/// Ends the program with a message and exit code 2, or 0 for --help.
options read_options(int count, char** words);

}  // namespace outboxd::chaos

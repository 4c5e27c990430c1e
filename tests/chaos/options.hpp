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
  shape form;  // from the seed, but for what the command line says
  int writers = 4;
  int aggregates = 400;
  std::filesystem::path logs = "chaos-logs";
  std::filesystem::path outboxd = OUTBOXD_BINARY;
  bool print_schedule = false;
  /// Where the times of takeovers are appended; empty: nowhere.
  std::filesystem::path takeovers;
  /// Not a run, but the sum of such a file; empty: a run.
  std::filesystem::path histogram;
  /// Relays also end themselves at named points of their code.
  bool failpoints = false;
  /// What the checker has to find, done on purpose: lost, phantom, marked, overtaken; empty: nothing.
  std::string sabotage;
  /// Not the random schedule, but one long outage of the broker; zero: none.
  std::chrono::seconds outage{0};
  /// On a machine that may be slow: how long something takes is told and not judged.
  bool any_pace = false;
  /// Only these faults; empty: all.
  std::vector<std::string> only;

  schedule_options plan() const {
    return {.seed = seed, .length = length, .relays = form.relays, .guests = form.guests};
  }
  /// What to type to get this run again.
  std::string command() const;
};

/// Ends the program with exit code 2, or 0 for --help, and the words for it.
options read_options(int count, char** words);

}  // namespace outboxd::chaos

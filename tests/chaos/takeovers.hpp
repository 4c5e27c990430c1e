// takeovers: a histogram of the times without a leader, for one run or, from a file, for a series of runs.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace outboxd::chaos {

/// The time from the last poll that saw the old session lead to the first poll that saw the next session
/// lead.
struct takeovers {
  std::vector<std::chrono::milliseconds> calm;       // some relay worked all the time and before
  std::vector<std::chrono::milliseconds> disturbed;  // faults affected every relay or a server
  bool operator==(const takeovers&) const = default;
};

/// For each kind, prints the median and the maximum, and a line for each nonempty class of times.
std::string histogram(const takeovers& all);

/// Appends the times to the file, one per line.
void append(const std::filesystem::path& file, const takeovers& all);
takeovers read_takeovers(const std::filesystem::path& file);

}  // namespace outboxd::chaos

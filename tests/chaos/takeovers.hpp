// takeovers: how long shards were led by nobody, as a histogram; of one run, and in a file for a series of
// runs.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace outboxd::chaos {

/// From the last look at the session that led to the first look at the next one, which saw it lead.
struct takeovers {
  std::vector<std::chrono::milliseconds> calm;       // some relay was well, for so long and before
  std::vector<std::chrono::milliseconds> disturbed;  // faults had every relay or a server in their hands
  bool operator==(const takeovers&) const = default;
};

/// Of each kind the median and the worst, and a line for each class of times that has some.
std::string histogram(const takeovers& all);

/// One a line, appended.
void append(const std::filesystem::path& file, const takeovers& all);
takeovers read_takeovers(const std::filesystem::path& file);

}  // namespace outboxd::chaos

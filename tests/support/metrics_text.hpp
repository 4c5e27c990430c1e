// metrics_text: looks up a series in what a relay tells at /metrics.
#pragma once

#include <sstream>
#include <string>

namespace outboxd::test {

/// -1: there is no such series. Its labels belong to its name.
inline double value_of(const std::string& metrics, const std::string& series) {
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(series + " ")) return std::stod(line.substr(series.size() + 1));
  return -1;
}

}  // namespace outboxd::test

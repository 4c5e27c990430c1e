// report: the figures of one part: printed as a table while they arrive, then written as JSON, plots and the
// summary.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/figures.hpp"
#include "report/plot.hpp"

namespace outboxd::bench {

class report {
 public:
  // directory: for PART.json, PART*.svg and summary.json. command: the command that repeats the measurement.
  report(std::string part, std::filesystem::path directory, std::string command, bool quick);

  // The conditions of the measurement, also written to the JSON.
  void note(const std::string& words);
  // Starts a section: the subject of the following figures.
  void section(const std::string& title);
  // Prints one line of the table, and returns the median and the spread of the rounds.
  spread figure(const std::string& name, const std::vector<double>& rounds, const std::string& unit);
  // The value of a promised figure (bars.hpp).
  void key(const std::string& name, double value);
  // Writes PART.svg, or PART-name.svg.
  void draw(const plot& what, const std::string& name = "");

  // Call it when the part has finished; nothing is written for a part that failed.
  void write() const;

 private:
  std::string part_;
  std::filesystem::path directory_;
  std::string command_;
  bool quick_;
  std::string section_;
  nlohmann::json notes_ = nlohmann::json::array();
  nlohmann::json figures_ = nlohmann::json::array();
  std::map<std::string, double> keys_;
  std::map<std::string, plot> plots_;
};

}  // namespace outboxd::bench

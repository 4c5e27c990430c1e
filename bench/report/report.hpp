// report: the figures of one part: a table on the screen as they come, then JSON, plots and the summary.
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
  // directory: where PART.json, PART*.svg and summary.json go. command: how to get these figures again.
  report(std::string part, std::filesystem::path directory, std::string command, bool quick);

  // Under what conditions; goes into the JSON as well.
  void note(const std::string& words);
  // What the next figures are about.
  void section(const std::string& title);
  // One line of the table: the median and the spread of the rounds, which are returned.
  spread figure(const std::string& name, const std::vector<double>& rounds, const std::string& unit);
  // The value of a promised figure (bars.hpp).
  void key(const std::string& name, double value);
  // Into PART.svg, or PART-name.svg.
  void draw(const plot& what, const std::string& name = "");

  // Call it when the part is through: nothing is written of one that failed.
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

#include "report/report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

#include "report/bars.hpp"
#include "report/summary.hpp"

namespace outboxd::bench {
namespace {

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

nlohmann::json machine() {
  return {{"processor", processor()}, {"cores", std::thread::hardware_concurrency()}};
}

std::string today() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

int decimals(double value) {
  if (value >= 1000) return 0;
  return value >= 10 ? 1 : 3;
}

}  // namespace

report::report(std::string part, std::filesystem::path directory, std::string command, bool quick)
    : part_(std::move(part)), directory_(std::move(directory)), command_(std::move(command)), quick_(quick) {
  fmt::print("\n== {}{}\n", part_, quick_ ? " (a smoke run: too small to mean anything)" : "");
}

void report::note(const std::string& words) {
  fmt::print("{}\n", words);
  std::fflush(stdout);
  notes_.push_back(words);
}

void report::section(const std::string& title) {
  section_ = title;
  fmt::print("\n{}\n", title);
}

spread report::figure(const std::string& name, const std::vector<double>& rounds, const std::string& unit) {
  const auto of = spread_of(rounds);
  const int digits = decimals(of.median);
  fmt::print("  {:<44}{:>12.{}f} {:<16}", name, of.median, digits, unit);
  if (rounds.size() > 1) fmt::print("({:.{}f} to {:.{}f})", of.least, digits, of.most, digits);
  fmt::print("\n");
  std::fflush(stdout);
  figures_.push_back({{"section", section_},
                      {"name", name},
                      {"unit", unit},
                      {"median", of.median},
                      {"least", of.least},
                      {"most", of.most},
                      {"rounds", rounds}});
  return of;
}

void report::key(const std::string& name, double value) {
  const auto promised = bar_of(name);
  if (!promised) throw std::logic_error("no bar is set for " + name);
  fmt::print("  {:<44}{:>12.3f} {:<16}{}\n", name, value, "bar " + words(*promised),
             promised->met_by(value) ? "met" : "missed");
  keys_[name] = value;
}

void report::draw(const plot& what, const std::string& name) {
  plots_[name.empty() ? part_ : part_ + "-" + name] = what;
}

void report::write() const {
  std::filesystem::create_directories(directory_);
  std::ofstream(directory_ / (part_ + ".json"))
      << nlohmann::json{{"part", part_},        {"date", today()}, {"command", command_}, {"quick", quick_},
                        {"machine", machine()}, {"notes", notes_}, {"figures", figures_}, {"keys", keys_}}
             .dump(2)
      << '\n';
  for (const auto& [name, what] : plots_) write_svg(directory_ / (name + ".svg"), what);
  update_summary(directory_ / "summary.json", keys_, today(), command_, quick_);
}

}  // namespace outboxd::bench

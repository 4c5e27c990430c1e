#include "report/summary.hpp"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "report/bars.hpp"

namespace outboxd::bench {
namespace {

nlohmann::json read(const std::filesystem::path& file) {
  std::ifstream in(file);
  auto found = nlohmann::json::parse(in, nullptr, /*allow_exceptions=*/false);
  return found.is_object() ? found : nlohmann::json::object();
}

}  // namespace

std::optional<bar> bar_of(std::string_view key) {
  for (const bar& one : bars)
    if (one.key == key) return one;
  return std::nullopt;
}

std::string words(const bar& of) {
  return fmt::format("{} {}", of.which == direction::at_least ? ">=" : "<=", of.value);
}

void update_summary(const std::filesystem::path& file, const std::map<std::string, double>& values,
                    const std::string& date, const std::string& command, bool quick) {
  auto all = read(file);
  for (const auto& [key, value] : values) {
    const auto promised = bar_of(key);
    if (!promised) throw std::logic_error("no bar is set for " + key);
    all[key] = {{"value", value}, {"bar", words(*promised)}, {"met", promised->met_by(value)},
                {"date", date},   {"command", command},      {"what", promised->what}};
    if (quick) all[key]["quick"] = true;  // a smoke run: too small to mean anything
  }
  const auto unfinished = std::filesystem::path(file).concat(".new");
  std::ofstream(unfinished) << all.dump(2) << '\n';
  std::filesystem::rename(unfinished, file);
}

void print_summary(const std::filesystem::path& file) {
  const auto all = read(file);
  fmt::print("\n{:<24}{:>12}  {:<10}{:<6}{}\n", "key", "value", "bar", "met", "measured");
  for (const bar& one : bars) {
    const auto found = all.find(one.key);
    if (found == all.end()) {
      fmt::print("{:<24}{:>12}  {:<10}{:<6}{}\n", one.key, "", words(one), "", "not yet");
      continue;
    }
    fmt::print("{:<24}{:>12.3f}  {:<10}{:<6}{}{}\n", one.key, (*found)["value"].get<double>(), words(one),
               (*found)["met"].get<bool>() ? "yes" : "no", (*found)["date"].get<std::string>(),
               found->contains("quick") ? ", a smoke run" : "");
  }
}

}  // namespace outboxd::bench

// takeovers: a histogram with classes of increasing width.
#include "takeovers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <string>

namespace outboxd::chaos {
namespace {

constexpr auto endless = std::numeric_limits<long>::max();
constexpr std::array limits{10L, 25L, 50L, 100L, 250L, 500L, 1000L, 3000L, endless};  // milliseconds
constexpr std::size_t widest = 50;

constexpr auto calm_name = "calm";
constexpr auto disturbed_name = "disturbed";

std::string bar(std::size_t count, std::size_t most) {
  return std::string(std::max<std::size_t>(1, count * widest / most), '#');
}

std::string histogram(const char* name, std::vector<std::chrono::milliseconds> times) {
  if (times.empty()) return fmt::format("no {} takeovers", name);
  std::sort(times.begin(), times.end());
  auto text = fmt::format("{} {} takeovers, median {} ms, worst {} ms", times.size(), name,
                          times[times.size() / 2].count(), times.back().count());
  std::array<std::size_t, limits.size()> counts{};
  for (const auto& one : times) {
    const auto of = std::lower_bound(limits.begin(), limits.end(), one.count());
    ++counts[static_cast<std::size_t>(of - limits.begin())];
  }
  const auto most = *std::max_element(counts.begin(), counts.end());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const auto limit =
        limits[i] == endless ? fmt::format("over {}", limits[i - 1]) : fmt::format("to {}", limits[i]);
    text += fmt::format("\n  {:>9} ms {:>4} {}", limit, counts[i], bar(counts[i], most));
  }
  return text;
}

}  // namespace

std::string histogram(const takeovers& all) {
  return fmt::format("{}\n{}", histogram(calm_name, all.calm), histogram(disturbed_name, all.disturbed));
}

void append(const std::filesystem::path& file, const takeovers& all) {
  std::ofstream out{file, std::ios::app};
  for (const auto& one : all.calm) out << calm_name << ' ' << one.count() << '\n';
  for (const auto& one : all.disturbed) out << disturbed_name << ' ' << one.count() << '\n';
}

takeovers read_takeovers(const std::filesystem::path& file) {
  takeovers all;
  std::ifstream in{file};
  std::string name;
  for (std::chrono::milliseconds::rep one = 0; in >> name >> one;)
    (name == calm_name ? all.calm : all.disturbed).emplace_back(one);
  return all;
}

}  // namespace outboxd::chaos

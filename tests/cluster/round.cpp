#include "round.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace outboxd::cluster {
namespace {

std::string seconds(micros length) {
  return fmt::format("{:.2f} s", static_cast<double>(length) / 1e6);
}

}  // namespace

round_result run_round(rabbit_cluster& all, const rig_settings& how,
                       const std::vector<const fault*>& faults) {
  std::mt19937_64 random{how.seed};
  round_result out;
  rig on{all, how};
  std::size_t duplicates = 0;
  for (const auto* const one : faults) {
    const auto from = now();
    one->happen(on, random);
    const stretch during{from, now()};
    auto wrong = on.settle();
    const figures its{one->name, on.longest_open(during), on.longest_gap(during)};
    fmt::print(
        "{} relays, {} shards, {}: took {}, nobody led for {}, then open for {} at most; {} copies{}{}\n",
        how.relays, how.shards, one->name, seconds(during.to - during.from), seconds(its.gap),
        seconds(its.recovery), on.duplicates() - std::exchange(duplicates, on.duplicates()),
        on.missing() > 0 ? fmt::format(", {} events never reached the standby", on.missing()) : "",
        wrong.empty() ? "" : "; WRONG");
    std::fflush(stdout);
    out.of_faults.push_back(its);
    out.wrong.insert(out.wrong.end(), wrong.begin(), wrong.end());
  }
  const auto wrong = on.stop();
  out.wrong.insert(out.wrong.end(), wrong.begin(), wrong.end());
  return out;
}

std::string table_of(const std::vector<figures>& all) {
  std::map<std::string, std::vector<micros>> by_fault;
  for (const auto& one : all) by_fault[one.fault].push_back(one.recovery);
  auto text = fmt::format("{:30} {:>6} {:>8} {:>8}\n", "fault", "times", "median", "worst");
  for (auto& [name, times] : by_fault) {
    std::sort(times.begin(), times.end());
    text += fmt::format("{:30} {:>6} {:>8} {:>8}\n", name, times.size(), seconds(times[times.size() / 2]),
                        seconds(times.back()));
  }
  return text;
}

}  // namespace outboxd::cluster

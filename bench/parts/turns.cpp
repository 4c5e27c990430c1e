#include "parts/turns.hpp"

#include <fmt/format.h>

namespace outboxd::bench {

void turns::run(report& out, int rounds) {
  for (int round = 1; round <= rounds; ++round) {
    // The second run may find warmer caches, or a busier machine.
    auto& first = round % 2 == 1 ? plain_ : other_;
    auto& second = round % 2 == 1 ? other_ : plain_;
    first.drain_once();
    second.drain_once();
    out.note(fmt::format("round {}: {:.0f} events/s {}, {:.0f} {}", round, plain_.rounds.back().*rate_,
                         plain_.of.name, other_.rounds.back().*rate_, other_.of.name));
  }
}

void turns::tell(report& out) const {
  plain_.tell(out);
  other_.tell(out);
}

double turns::compare(report& out, const std::string& tag) const {
  out.section("ratio");
  const auto of_both = fmt::format("{} / {}", other_.of.name, plain_.of.name);
  out.figure("relay CPU: " + of_both, ratios(&drained::cpu_us_per_event), "");
  if (const auto cpu = ratios(&drained::server_cpu_us_per_event); !cpu.empty())
    out.figure("CPU of its PostgreSQL sessions: " + of_both, cpu, "");
  const auto ratio = out.figure("drained: " + of_both, ratios(rate_), "");
  out.draw({.title = fmt::format("Drain: {} and {}", other_.of.name, plain_.of.name),
            .x_label = "round",
            .y_label = "events per second",
            .series = {plain_.series(rate_), other_.series(rate_)}},
           tag);
  return ratio.median;
}

std::vector<double> turns::ratios(double drained::*what) const {
  std::vector<double> out;
  for (std::size_t i = 0; i < plain_.rounds.size(); ++i)
    if (plain_.rounds[i].*what > 0) out.push_back(other_.rounds[i].*what / plain_.rounds[i].*what);
  return out;
}

std::vector<double> turns::drains::all(double drained::*what) const {
  std::vector<double> out;
  for (const auto& one : rounds) out.push_back(one.*what);
  return out;
}

void turns::drains::tell(report& out) const {
  out.section(of.name);
  out.figure("drained", all(&drained::events_per_second), "events/s");
  out.figure("drained, from the start of the relay", all(&drained::from_start), "events/s");
  out.figure("relay CPU", all(&drained::cpu_us_per_event), "us/event");
  out.figure("relay memory, at most", all(&drained::peak_rss_mb), "MB");
  out.figure("CPU of its PostgreSQL sessions", all(&drained::server_cpu_us_per_event), "us/event");
  out.figure("WAL", all(&drained::wal_bytes_per_event), "bytes/event");
}

plot_series turns::drains::series(double drained::*what) const {
  plot_series out{.name = of.name, .points = {}};
  for (const auto& one : rounds)
    out.points.push_back({static_cast<double>(out.points.size() + 1), one.*what});
  return out;
}

}  // namespace outboxd::bench

#include "parts/beside.hpp"

#include <fmt/format.h>

namespace outboxd::bench {
namespace {

struct table {
  stage& where;
  std::string name;
  std::vector<std::string> relay_flags;
  std::vector<drained> rounds;

  void drain_once(const setup& on, const beside_options& how, measure what) {
    const auto before = where.fill(how.fill);
    if (what == measure::cold)
      where.connect().exec("UPDATE outbox.shard SET seq = NULL, seen = NULL, unsettled = '{}'");
    rounds.push_back(drain(on, where, before, how.fill.events, relay_flags));
    where.clear(before);
  }
  std::vector<double> all(double drained::*what) const {
    std::vector<double> out;
    for (const auto& one : rounds) out.push_back(one.*what);
    return out;
  }
  void tell(report& out) const {
    out.section(name);
    out.figure("drained", all(&drained::events_per_second), "events/s");
    out.figure("drained, from the start of the relay", all(&drained::from_start), "events/s");
    out.figure("relay CPU", all(&drained::cpu_us_per_event), "us/event");
    out.figure("CPU of its PostgreSQL sessions", all(&drained::server_cpu_us_per_event), "us/event");
    out.figure("WAL", all(&drained::wal_bytes_per_event), "bytes/event");
  }
  plot_series series(double drained::*what) const {
    plot_series out{.name = name, .points = {}};
    for (const auto& one : rounds)
      out.points.push_back({static_cast<double>(out.points.size() + 1), one.*what});
    return out;
  }
};

}  // namespace

double drain_beside(const setup& on, report& out, stage& bare, const std::string& bare_name, stage& crowded,
                    const std::string& crowded_name, const beside_options& how, measure what) {
  const auto rate = what == measure::cold ? &drained::from_start : &drained::events_per_second;
  table first{bare, bare_name, how.relay_flags, {}};
  table second{crowded, crowded_name, how.relay_flags, {}};
  second.relay_flags.insert(second.relay_flags.end(), how.crowded_flags.begin(), how.crowded_flags.end());
  std::vector<double> ratios;
  for (int round = 1; round <= how.rounds; ++round) {
    // What runs second may find warmer caches, or a machine that has become busier.
    auto& leads = round % 2 == 1 ? first : second;
    auto& follows = round % 2 == 1 ? second : first;
    leads.drain_once(on, how, what);
    follows.drain_once(on, how, what);
    ratios.push_back(second.rounds.back().*rate / first.rounds.back().*rate);
    out.note(fmt::format("round {}: {:.0f} events/s, {:.0f} beside, ratio {:.2f}", round,
                         first.rounds.back().*rate, second.rounds.back().*rate, ratios.back()));
  }
  first.tell(out);
  second.tell(out);
  out.section("ratio");
  std::vector<double> cpu;
  for (std::size_t i = 0; i < first.rounds.size(); ++i)
    if (first.rounds[i].server_cpu_us_per_event > 0)
      cpu.push_back(second.rounds[i].server_cpu_us_per_event / first.rounds[i].server_cpu_us_per_event);
  if (!cpu.empty()) out.figure("the same of the CPU of the PostgreSQL sessions", cpu, "");
  const auto ratio = out.figure(fmt::format("{} / {}", crowded_name, bare_name), ratios, "");
  out.draw({.title = fmt::format("Drain: {} and {}", crowded_name, bare_name),
            .x_label = "round",
            .y_label = "events per second",
            .series = {first.series(rate), second.series(rate)}},
           what == measure::cold ? "cold" : "");
  return ratio.median;
}

}  // namespace outboxd::bench

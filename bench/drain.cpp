// drain: how fast a relay empties a full table, beside what a bare publisher gets confirmed in the same run.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "baseline.hpp"
#include "drain_round.hpp"

namespace {

using outboxd::bench::drain_options;
using outboxd::bench::drain_result;

struct options {
  drain_options drain;
  std::string publisher;
  int lanes = 4;
  int rounds = 3;
  std::string json;
};

struct spread {
  double least;
  double median;
  double most;
};

template <class Of>
spread spread_of(const std::vector<drain_result>& all, Of&& of) {
  std::vector<double> values;
  for (const auto& one : all) values.push_back(of(one));
  std::sort(values.begin(), values.end());
  return {values.front(), values[values.size() / 2], values.back()};
}

void print(std::string_view what, const spread& of, std::string_view unit) {
  fmt::print("{:<28}{:>12.2f} {:<14} ({:.2f} to {:.2f})\n", what, of.median, unit, of.least, of.most);
}

int run(const options& chosen) {
  std::vector<drain_result> drains;
  std::vector<double> ratios;
  std::vector<double> baselines;
  for (int round = 1; round <= chosen.rounds; ++round) {
    const double before = outboxd::bench::bare_publisher(
        chosen.publisher, chosen.drain.queue_type, chosen.drain.events, chosen.drain.size, chosen.lanes);
    drains.push_back(outboxd::bench::drain(chosen.drain));
    const double after = outboxd::bench::bare_publisher(chosen.publisher, chosen.drain.queue_type,
                                                        chosen.drain.events, chosen.drain.size, chosen.lanes);
    baselines.push_back((before + after) / 2);
    ratios.push_back(drains.back().events_per_second / baselines.back());
    fmt::print("round {}: {:.0f} events/s, bare publisher {:.0f} and {:.0f}, ratio {:.2f}\n", round,
               drains.back().events_per_second, before, after, ratios.back());
  }
  std::sort(ratios.begin(), ratios.end());
  std::sort(baselines.begin(), baselines.end());
  const double ratio = ratios[ratios.size() / 2];
  const auto rate = spread_of(drains, [](const auto& one) { return one.events_per_second; });
  const auto cpu = spread_of(drains, [](const auto& one) { return one.cpu_us_per_event; });
  const auto wal = spread_of(drains, [](const auto& one) { return one.wal_bytes_per_event; });
  const auto trips = spread_of(drains, [](const auto& one) { return one.transactions_per_event * 1000; });
  const auto memory = spread_of(drains, [](const auto& one) { return one.peak_rss_mb; });
  fmt::print("\ndrain of {} events of {} bytes, {} lanes, {} queue; median of {} rounds (least to most)\n",
             chosen.drain.events, chosen.drain.size, chosen.lanes, chosen.drain.queue_type, chosen.rounds);
  print("drained", rate, "events/s");
  print("relay CPU", cpu, "us/event");
  print("WAL", wal, "bytes/event");
  print("commits", trips, "/1000 events");
  print("relay peak memory", memory, "MB");
  fmt::print("{:<28}{:>12.2f} {:<14} ({:.2f} to {:.2f})\n", "drain / bare publisher", ratio, "",
             ratios.front(), ratios.back());
  if (!chosen.json.empty())
    std::ofstream(chosen.json) << nlohmann::json{{"events_per_second", rate.median},
                                                 {"bare_publisher_per_second",
                                                  baselines[baselines.size() / 2]},
                                                 {"ratio", ratio},
                                                 {"cpu_us_per_event", cpu.median},
                                                 {"wal_bytes_per_event", wal.median},
                                                 {"commits_per_1000_events", trips.median},
                                                 {"peak_rss_mb", memory.median}}
                                      .dump(2)
                               << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  options chosen;
  CLI::App app{"Drains a full outbox and compares with a bare publisher"};
  app.add_option("--outboxd", chosen.drain.outboxd, "the relay's binary")->required();
  app.add_option("--publisher", chosen.publisher, "the bare publisher's binary")->required();
  app.add_option("--events", chosen.drain.events)->check(CLI::PositiveNumber);
  app.add_option("--size", chosen.drain.size, "bytes of payload")->check(CLI::NonNegativeNumber);
  app.add_option("--aggregates", chosen.drain.aggregates)->check(CLI::PositiveNumber);
  app.add_option("--queue-type", chosen.drain.queue_type)->check(CLI::IsMember({"quorum", "classic"}));
  app.add_option("--lanes", chosen.lanes)->check(CLI::Range(1, 64));
  app.add_option("--rounds", chosen.rounds)->check(CLI::Range(1, 100));
  app.add_option("--relay-flag", chosen.drain.relay_flags, "passed on to outboxd run");
  app.add_option("--json", chosen.json, "also write the figures here");
  CLI11_PARSE(app, argc, argv);
  chosen.drain.relay_flags.insert(chosen.drain.relay_flags.end(),
                                  {"--relay-lanes", std::to_string(chosen.lanes)});
  try {
    return run(chosen);
  } catch (const std::exception& failed) {
    fmt::print(stderr, "drain: {}\n", failed.what());
    return 1;
  }
}

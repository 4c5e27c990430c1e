// partitions: the cost of a partitioned outbox for relay and writers.
#include "stage/partitions.hpp"

#include <fmt/format.h>

#include <array>
#include <map>

#include "parts/part.hpp"
#include "stage/await.hpp"
#include "stage/drain.hpp"
#include "stage/order_load.hpp"

namespace outboxd::bench {
namespace {

enum class layout { whole, partitioned };
constexpr std::array layouts{layout::whole, layout::partitioned};

const char* name_of(layout which) {
  switch (which) {
    case layout::whole:
      return "one table";
    case layout::partitioned:
      return "partitioned";
  }
  return "";
}

struct rounds {
  std::vector<double> drained_per_second, relay_cpu_us, server_cpu_us, wal_bytes;  // results of drains
  std::vector<double> commits_per_second, p50_ms, p99_ms;                          // results of writers
};

class partitions : public part {
 public:
  const char* name() const override { return "partitions"; }
  const char* help() const override {
    return "drains and writers on a partitioned outbox, beside those on one that is not";
  }
  void be_quick() override {
    fill_.events = 5'000;
    milliseconds_ = 300;
    in_use_ = 3;
    rounds_ = 1;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--events", fill_.events, "of each drain")->check(CLI::PositiveNumber);
    at.add_option("--size", fill_.size, "bytes of payload")->check(CLI::NonNegativeNumber);
    at.add_option("--partitions", in_use_, "that have events; 8 for the promised ratios")
        ->check(CLI::Range(1, 1000));
    at.add_option("--clients", clients_, "that write; 16 for the promised ratio")->check(CLI::Range(1, 1000));
    at.add_option("--milliseconds", milliseconds_, "of each load")->check(CLI::PositiveNumber);
    at.add_option("--lanes", lanes_)->check(CLI::Range(1, 64));
    at.add_option("--rounds", rounds_)->check(CLI::Range(1, 100));
  }

  void run(const setup& on, report& out) override {
    out.note(
        fmt::format("drains: {} events of {} bytes, {} lanes, quorum queue; writers: {} clients for {} ms "
                    "with a relay at "
                    "work, each transaction an order and its event. Partitioned: {} partitions with events "
                    "and two that are "
                    "ready, as with days and retention.published = 7d",
                    fill_.events, fill_.size, lanes_, clients_, milliseconds_, in_use_));
    stage whole(on);
    leave_whole(whole, in_use_);
    stage divided(on);
    partition(on, divided, in_use_);
    for (auto* const one : {&whole, &divided}) create_orders(*one);
    for (int round = 1; round <= rounds_; ++round) {
      for (std::size_t i = 0; i < layouts.size(); ++i) {
        // The second run may find warmer caches, or a busier machine.
        const auto which = layouts.at((i + static_cast<std::size_t>(round)) % layouts.size());
        auto& where = which == layout::whole ? whole : divided;
        drain_once(on, where, all_[which]);
        write_once(on, where, all_[which]);
      }
      out.note(fmt::format(
          "round {}: {:.0f} events/s drained, {:.0f} partitioned; {:.0f} commits/s, {:.0f} partitioned",
          round, all_[layout::whole].drained_per_second.back(),
          all_[layout::partitioned].drained_per_second.back(), all_[layout::whole].commits_per_second.back(),
          all_[layout::partitioned].commits_per_second.back()));
    }
    tell(out);
  }

 private:
  std::vector<std::string> relay_flags() const {
    return {"--relay-lanes", std::to_string(lanes_), "--retention-published", "never"};
  }

  void drain_once(const setup& on, stage& where, rounds& into) const {
    const auto done = fill_and_drain(on, where, fill_, relay_flags());
    into.drained_per_second.push_back(done.events_per_second);
    into.relay_cpu_us.push_back(done.cpu_us_per_event);
    // Unknown for a server that is not our own.
    if (done.server_cpu_us_per_event > 0) into.server_cpu_us.push_back(done.server_cpu_us_per_event);
    into.wal_bytes.push_back(done.wal_bytes_per_event);
  }

  void write_once(const setup& on, stage& where, rounds& into) const {
    auto session = where.connect();
    session.exec("TRUNCATE orders");
    const auto before = session.number("SELECT max(seq) FROM outbox.event");
    where.come_to_rest(session);
    relay running(on, where, relay_flags());
    running.await_lead();
    const auto load = load_orders(where, clients_, std::chrono::milliseconds(milliseconds_));
    into.commits_per_second.push_back(static_cast<double>(load.commits) / load.seconds);
    into.p50_ms.push_back(percentile(load.latencies_ms, 0.50));
    into.p99_ms.push_back(percentile(load.latencies_ms, 0.99));
    await("every event is delivered", [&] { return where.messages() >= load.commits; });
    running.stop();
    if (const auto there = where.messages(); there != load.commits)
      throw std::runtime_error(fmt::format("{} events were committed, {} delivered", load.commits, there));
    where.clear(before);
  }

  std::vector<double> ratios(std::vector<double> rounds::*what) const {
    const auto& ours = all_.at(layout::partitioned).*what;
    const auto& base = all_.at(layout::whole).*what;
    std::vector<double> out;
    for (std::size_t i = 0; i < ours.size(); ++i) out.push_back(ours[i] / base[i]);
    return out;
  }

  void tell(report& out) const {
    for (const auto& [which, of] : all_) {
      out.section(name_of(which));
      out.figure("drained", of.drained_per_second, "events/s");
      out.figure("relay CPU", of.relay_cpu_us, "us/event");
      if (!of.server_cpu_us.empty())
        out.figure("CPU of its PostgreSQL sessions", of.server_cpu_us, "us/event");
      out.figure("WAL", of.wal_bytes, "bytes/event");
      out.figure("commits", of.commits_per_second, "commits/s");
      out.figure("commit latency p50", of.p50_ms, "ms");
      out.figure("commit latency p99", of.p99_ms, "ms");
    }
    out.section("partitioned / one table");
    out.figure("relay CPU of a drain", ratios(&rounds::relay_cpu_us), "");
    if (const auto cpu = ratios(&rounds::server_cpu_us); !cpu.empty())
      out.figure("CPU of its PostgreSQL sessions", cpu, "");
    out.figure("WAL of a drain", ratios(&rounds::wal_bytes), "");
    out.key("partitions_ratio", out.figure("drained", ratios(&rounds::drained_per_second), "").median);
    out.key("partitions_writers_ratio",
            out.figure("commits", ratios(&rounds::commits_per_second), "").median);
    plot lines{.title = "Drain: one table and partitioned",
               .x_label = "round",
               .y_label = "events per second",
               .series = {}};
    for (const auto& [which, of] : all_) {
      plot_series one{.name = name_of(which), .points = {}};
      for (const auto rate : of.drained_per_second)
        one.points.push_back({static_cast<double>(one.points.size() + 1), rate});
      lines.series.push_back(std::move(one));
    }
    out.draw(lines);
  }

  filling fill_{.events = 200'000};
  int in_use_ = 8;
  int clients_ = 16;
  int milliseconds_ = 5'000;
  int lanes_ = default_lanes;
  int rounds_ = 6;
  std::map<layout, rounds> all_;
};

}  // namespace

std::unique_ptr<part> partitions_part() {
  return std::make_unique<partitions>();
}

}  // namespace outboxd::bench

// backlog: read time, drain rate and memory with growing numbers of pending events, and with finished events.
#include <fmt/format.h>

#include <algorithm>

#include "parts/beside.hpp"
#include "parts/part.hpp"
#include "stage/await.hpp"
#include "stage/bare_reader.hpp"

namespace outboxd::bench {
namespace {

struct of_backlog {
  double read_ms;
  double events_per_second;
  double rss_mb;
};

class backlog : public part {
 public:
  const char* name() const override { return "backlog"; }
  const char* help() const override {
    return "reads and drains at up to 5 M pending, and beside 5 M published events";
  }
  void be_quick() override {
    pending_ = {1'000, 10'000};
    published_ = 10'000;
    drained_ = 5'000;
    how_.fill.events = 5'000;
    how_.rounds = 1;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--pending", pending_, "sizes of backlog, rising; 5000000 for the promised rss_mb")
        ->delimiter(',');
    at.add_option("--published", published_, "finished events; 5000000 for the promised ratio")
        ->check(CLI::NonNegativeNumber);
    at.add_option("--drained", drained_, "of each backlog, at most")->check(CLI::PositiveNumber);
    at.add_option("--events", how_.fill.events, "of each round beside the finished ones")
        ->check(CLI::PositiveNumber);
    at.add_option("--rounds", how_.rounds, "beside the finished ones")->check(CLI::Range(1, 100));
    at.add_option("--lanes", lanes_)->check(CLI::Range(1, 64));
  }

  void run(const setup& on, report& out) override {
    how_.relay_flags = {"--relay-lanes", std::to_string(lanes_)};
    plot reads{.title = "A read of 1500 events",
               .x_label = "pending events",
               .y_label = "ms",
               .series = {{"read", {}}},
               .log_x = true};
    plot rates{.title = "Drain rate",
               .x_label = "pending events",
               .y_label = "events per second",
               .series = {{"drained", {}}},
               .log_x = true};
    of_backlog last{};
    for (const auto pending : pending_) {
      last = measure(on, out, pending);
      const auto x = static_cast<double>(pending);
      reads.series[0].points.push_back({x, last.read_ms});
      rates.series[0].points.push_back({x, last.events_per_second});
    }
    out.draw(reads, "read");
    out.draw(rates, "drain");
    out.key("rss_mb", last.rss_mb);
    beside_published(on, out);
  }

 private:
  of_backlog measure(const setup& on, report& out, std::int64_t pending) const {
    stage where(on);
    auto fill = how_.fill;
    fill.events = pending;
    const auto before = where.fill(fill);
    out.section(fmt::format("{} pending events", pending));
    std::vector<double> reads;
    {
      bare_reader one(where);
      for (int i = 0; i < 21; ++i) reads.push_back(one.read_milliseconds());
    }
    of_backlog found{
        .read_ms = out.figure("read of 1500", reads, "ms").median, .events_per_second = 0, .rss_mb = 0};
    // The table is not drained completely: five million messages would measure the broker's memory.
    const auto enough = std::min(pending, drained_);
    relay draining(on, where, how_.relay_flags);
    await("enough is drained", [&] {
      if (!draining.running()) throw std::runtime_error("outboxd run has ended: " + draining.tail());
      return where.messages() >= enough;
    });
    found.rss_mb = draining.usage().peak_rss_mb;
    draining.stop();
    auto session = where.connect();
    found.events_per_second = marked_per_second(session, before);
    out.figure(fmt::format("the first {} drained", enough), {found.events_per_second}, "events/s");
    out.figure("relay peak memory", {found.rss_mb}, "MB");
    return found;
  }

  void beside_published(const setup& on, report& out) const {
    stage fresh(on);
    stage crowded(on);
    crowded.add_published(how_.fill, published_);
    out.note(fmt::format("{} events beside {} published ones, and on a fresh table; {} lanes, quorum queue",
                         how_.fill.events, published_, lanes_));
    out.key("backlog_ratio",
            drain_beside(on, out, fresh, "fresh table", crowded, "beside published events", how_));
    out.key("cold_ratio", drain_beside(on, out, fresh, "fresh table, first relay", crowded,
                                       "beside published events, first relay", how_, measure::cold));
  }

  std::vector<std::int64_t> pending_{10'000, 100'000, 1'000'000, 5'000'000};
  std::int64_t published_ = 5'000'000;
  std::int64_t drained_ = 200'000;
  beside_options how_{.fill = {.events = 200'000}, .rounds = 3, .relay_flags = {}};
  int lanes_ = default_lanes;
};

}  // namespace

std::unique_ptr<part> backlog_part() {
  return std::make_unique<backlog>();
}

}  // namespace outboxd::bench

// latency: the time from commit to consumer at several rates, for outboxd and the plain relay alternately.
#include <fmt/format.h>

#include <map>

#include "parts/part.hpp"
#include "stage/delivery_times.hpp"
#include "stage/plain_outbox.hpp"
#include "stage/relay.hpp"
#include "stage/round_trips.hpp"

namespace outboxd::bench {
namespace {

using namespace std::chrono_literals;

// Results of one round.
struct latencies {
  std::vector<double> p50, p95, p99, most;
  std::vector<double> late;  // share of the events that had not arrived when we stopped waiting

  void add(const std::vector<double>& round, double missing) {
    p50.push_back(percentile(round, 0.50));
    p95.push_back(percentile(round, 0.95));
    p99.push_back(percentile(round, 0.99));
    most.push_back(percentile(round, 1));
    late.push_back(missing);
  }
};

class latency : public part {
 public:
  const char* name() const override { return "latency"; }
  const char* help() const override { return "commit to consumer at several rates, beside the plain relay"; }
  void be_quick() override {
    rates_ = {50, 200, 1000};
    seconds_ = 1;
    rounds_ = 1;
    round_trips_ = 50;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--rates", rates_, "events per second; 200 and 1000 for the promised figures")
        ->delimiter(',');
    at.add_option("--seconds", seconds_, "of each run")->check(CLI::PositiveNumber);
    at.add_option("--rounds", rounds_)->check(CLI::Range(1, 100));
    at.add_option("--writers", writers_, "sessions")->check(CLI::Range(1, 64));
    at.add_option("--lanes", lanes_)->check(CLI::Range(1, 64));
  }

  void run(const setup& on, report& out) override {
    out.note(fmt::format(
        "{} s at each rate by {} sessions, {} lanes, quorum queue; from the sending of COMMIT until "
        "the consumer has the message",
        seconds_, writers_, lanes_));
    measure_round_trips(on, out);
    stage where(on, test::queue_type::quorum, /*autovacuum=*/true);
    create_plain_outbox(where);
    for (int round = 1; round <= rounds_; ++round) {
      for (const int rate : rates_) {
        const bool plain_first = round % 2 == 0;
        if (plain_first) plain_round(on, where, rate);
        outboxd_round(on, where, rate);
        if (!plain_first) plain_round(on, where, rate);
      }
      out.note(fmt::format("round {} of {} is through", round, rounds_));
    }
    tell(out);
  }

 private:
  void measure_round_trips(const setup& on, report& out) {
    stage where(on);
    const auto notify = notify_round_trips(where, round_trips_);
    const auto publish = publish_round_trips(on, where, round_trips_, message_size);
    out.section("round trips on an idle machine, of one event at a time");
    const auto bell = out.figure("COMMIT with a NOTIFY to its listener", notify, "ms");
    const auto message = out.figure("publish to consumer", publish, "ms");
    floor_ms_ = bell.median + message.median;
    for (const int rate : rates_)
      if (rate <= fastest_paced) measure_paced(on, where, out, rate);
  }
  void measure_paced(const setup& on, stage& where, report& out, int rate) {
    const auto trips = paced_round_trips(on, where, rate * seconds_, message_size, 1'000'000us / rate);
    paced_ms_[rate] = percentile(trips, 0.50);
    out.figure(fmt::format("both in a row, {} times a second: p50", rate), {paced_ms_[rate]}, "ms");
    out.figure(fmt::format("both in a row, {} times a second: p99", rate), {percentile(trips, 0.99)}, "ms");
  }

  void outboxd_round(const setup& on, stage& where, int rate) {
    where.connect().exec("TRUNCATE outbox.event");
    relay running(on, where, {"--relay-lanes", std::to_string(lanes_)});
    measure(on, where, rate, "outbox", ours_[rate]);
    running.stop();
  }
  void plain_round(const setup& on, stage& where, int rate) {
    where.connect().exec("TRUNCATE plain.event");
    const plain_relay running(on, where);
    measure(on, where, rate, "plain", plain_[rate]);
  }

  void measure(const setup& on, stage& where, int rate, const std::string& schema, latencies& into) const {
    const auto times = time_deliveries(on, where,
                                       {.events_per_second = static_cast<double>(rate),
                                        .duration = std::chrono::milliseconds(seconds_ * 1000),
                                        .writers = writers_},
                                       [&](std::int64_t n) { return numbered_insert(where, schema, n); });
    into.add(times.ms, times.missing);
  }

  void tell(report& out) {
    plot lines{.title = "Commit to consumer",
               .x_label = "events per second",
               .y_label = "ms",
               .series = {{"outboxd p50", {}},
                          {"outboxd p99", {}},
                          {"plain relay p50", {}},
                          {"plain relay p99", {}}},
               .log_x = true,
               .log_y = true};
    for (const int rate : rates_) {
      tell(out, fmt::format("outboxd at {}/s", rate), ours_[rate], rate, lines, 0);
      tell(out, fmt::format("plain relay at {}/s", rate), plain_[rate], rate, lines, 2);
    }
    out.draw(lines);
    out.section("ratios");
    for (const auto& [rate, pair] : paced_ms_)
      out.figure(fmt::format("p50 at {}/s / both round trips in a row at that rate", rate),
                 {spread_of(ours_[rate].p50).median / pair}, "");
    if (ours_.contains(200)) out.key("latency_p50_ratio", spread_of(ours_[200].p50).median / floor_ms_);
    if (ours_.contains(1000))
      out.key("latency_p99_vs_plain", spread_of(ours_[1000].p99).median / spread_of(plain_[1000].p99).median);
  }
  static void tell(report& out, const std::string& title, const latencies& all, int rate, plot& lines,
                   std::size_t first) {
    out.section(title);
    const auto p50 = out.figure("p50", all.p50, "ms");
    out.figure("p95", all.p95, "ms");
    const auto p99 = out.figure("p99", all.p99, "ms");
    out.figure("max", all.most, "ms");
    if (spread_of(all.late).most > 0)
      out.figure("had not come 10 s after the last", all.late, "of the events");
    lines.series[first].points.push_back({static_cast<double>(rate), p50.median});
    lines.series[first + 1].points.push_back({static_cast<double>(rate), p99.median});
  }

  static constexpr std::size_t message_size = 100;
  static constexpr int fastest_paced = 200;  // per second, because sequential round trips take time
  std::vector<int> rates_{50, 200, 1000, 5000};
  int seconds_ = 10;
  int rounds_ = 3;
  int writers_ = 8;
  int lanes_ = default_lanes;
  int round_trips_ = 1000;
  double floor_ms_ = 1;
  std::map<int, double> paced_ms_;
  std::map<int, latencies> ours_;
  std::map<int, latencies> plain_;
};

}  // namespace

std::unique_ptr<part> latency_part() {
  return std::make_unique<latency>();
}

}  // namespace outboxd::bench

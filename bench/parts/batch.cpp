// batch: compares outboxd with the batch relay, the worker that people write with SKIP LOCKED and batched
// confirms: the cost of emptying a full table, and the latency of single events.
#include <fmt/format.h>

#include <map>

#include "parts/part.hpp"
#include "parts/turns.hpp"
#include "stage/delivery_times.hpp"
#include "stage/plain_outbox.hpp"

namespace outboxd::bench {
namespace {

// The latencies of all rounds in ms, by events per second.
struct times_at {
  std::map<int, std::vector<double>> p50, p99;
};

class batch : public part {
 public:
  const char* name() const override { return "batch"; }
  const char* help() const override {
    return "drains and latency beside a worker with SKIP LOCKED and batched confirms";
  }
  void be_quick() override {
    fill_.events = 5'000;
    seconds_ = 1;
    rounds_ = 1;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--events", fill_.events, "of each drain")->check(CLI::PositiveNumber);
    at.add_option("--rates", rates_, "events per second; 20 for the promised figure")->delimiter(',');
    at.add_option("--seconds", seconds_, "at each rate")->check(CLI::PositiveNumber);
    at.add_option("--workers", workers_, "of the batch relay")->check(CLI::Range(1, 64));
    at.add_option("--poll-ms", poll_ms_, "pause of a worker that found nothing")->check(CLI::PositiveNumber);
    at.add_option("--rounds", rounds_)->check(CLI::Range(1, 100));
  }

  void run(const setup& on, report& out) override {
    out.note(
        fmt::format("{} events of {} bytes, quorum queue; {} workers of the batch relay, 500 rows at a "
                    "time, {} ms of pause after a look that found nothing; {} s at each rate",
                    fill_.events, fill_.body_bytes(), workers_, poll_ms_, seconds_));
    turns drains({"batch relay", [&] { return drain_theirs(on); }},
                 {"outboxd", [&] { return drain_ours(on); }});
    drains.run(out, rounds_);
    drains.tell(out);
    out.key("drain_vs_batch", drains.compare(out));
    for (int round = 1; round <= rounds_; ++round) {
      if (round % 2 == 0) time_ours(on);
      time_theirs(on);
      if (round % 2 == 1) time_ours(on);
    }
    tell(out, "batch relay: commit to consumer", theirs_);
    tell(out, "outboxd: commit to consumer", ours_);
    if (ours_.p50.contains(20))
      out.key("latency_p50_vs_batch", spread_of(ours_.p50[20]).median / spread_of(theirs_.p50[20]).median);
  }

 private:
  hand_written their_relay() const {
    return {.program = "batch_relay",
            .flags = {"--workers", std::to_string(workers_), "--poll-ms", std::to_string(poll_ms_)}};
  }
  drained drain_theirs(const setup& on) const {
    stage where(on);
    create_plain_outbox(where, /*notifies=*/false);
    return plain_drain(on, where, fill_, their_relay());
  }
  drained drain_ours(const setup& on) const {
    stage where(on);
    return fill_and_drain(on, where, fill_, {});
  }

  void time_theirs(const setup& on) {
    stage where(on, test::queue_type::quorum, /*autovacuum=*/true);
    create_plain_outbox(where, /*notifies=*/false);
    const plain_relay running(on, where, their_relay());
    for (const int rate : rates_) measure(on, where, rate, "plain", theirs_);
  }
  void time_ours(const setup& on) {
    stage where(on, test::queue_type::quorum, /*autovacuum=*/true);
    relay running(on, where);
    for (const int rate : rates_) measure(on, where, rate, "outbox", ours_);
    running.stop();
  }

  void measure(const setup& on, stage& where, int rate, const std::string& schema, times_at& into) const {
    const auto times = time_deliveries(on, where,
                                       {.events_per_second = static_cast<double>(rate),
                                        .duration = std::chrono::milliseconds(seconds_ * 1000)},
                                       [&](std::int64_t n) { return numbered_insert(where, schema, n); });
    into.p50[rate].push_back(percentile(times.ms, 0.50));
    into.p99[rate].push_back(percentile(times.ms, 0.99));
  }

  void tell(report& out, const std::string& title, const times_at& all) const {
    out.section(title);
    for (const int rate : rates_) {
      out.figure(fmt::format("p50 at {}/s", rate), all.p50.at(rate), "ms");
      out.figure(fmt::format("p99 at {}/s", rate), all.p99.at(rate), "ms");
    }
  }

  filling fill_{.events = 200'000};
  std::vector<int> rates_{20, 200, 1000};
  int seconds_ = 10;
  int workers_ = 4;
  int poll_ms_ = 100;
  int rounds_ = 3;
  times_at ours_;
  times_at theirs_;
};

}  // namespace

std::unique_ptr<part> batch_part() {
  return std::make_unique<batch>();
}

}  // namespace outboxd::bench

// limit: the rate of each server alone, which no relay can exceed.
#include <fmt/format.h>

#include "parts/part.hpp"
#include "stage/await.hpp"
#include "stage/bare_publisher.hpp"
#include "stage/bare_reader.hpp"
#include "stage/broker_log.hpp"
#include "stage/drain.hpp"
#include "stage/round_trips.hpp"

namespace outboxd::bench {
namespace {

// Replaces the stage's queue.
class sink {
 public:
  sink(const setup& on, const stage& where) : session_(on.amqp_url), name_(where.queue() + "-sink") {
    session_.declare_queue(name_, test::queue_type::classic, {{"x-max-length", 0}});
    session_.bind(name_, where.exchange(), where.event_type());
    session_.unbind(where.queue(), where.exchange(), where.event_type());
  }
  ~sink() {
    try {
      session_.delete_queue(name_);
    } catch (const std::exception& failed) {
      fmt::print(stderr, "queue {} is left behind: {}\n", name_, failed.what());
    }
  }
  sink(const sink&) = delete;
  sink& operator=(const sink&) = delete;

 private:
  test::broker session_;
  std::string name_;
};

class limit : public part {
 public:
  const char* name() const override { return "limit"; }
  const char* help() const override {
    return "the broker's confirms, PostgreSQL's reads and marks, the relay, and the two round trips, each "
           "alone";
  }
  void be_quick() override {
    messages_ = 3'000;
    events_ = 3'000;
    rounds_ = 1;
    round_trips_ = 50;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--messages", messages_, "of each bare publisher")->check(CLI::PositiveNumber);
    at.add_option("--events", events_, "to read and mark")->check(CLI::PositiveNumber);
    at.add_option("--size", size_, "bytes of payload")->check(CLI::NonNegativeNumber);
    at.add_option("--connections", connections_)->delimiter(',');
    at.add_option("--rounds", rounds_)->check(CLI::Range(1, 100));
  }

  void run(const setup& on, report& out) override {
    publish(on, out);
    read(on, out);
    relay_alone(on, out);
    stage where(on);
    out.section("round trips, one at a time; the rounds are single ones");
    tell(out, "COMMIT with a NOTIFY to its listener", notify_round_trips(where, round_trips_));
    tell(out, "publish to consumer", publish_round_trips(on, where, round_trips_, 100));
  }

 private:
  void publish(const setup& on, report& out) const {
    plot lines{.title = "The broker alone: confirmed messages per second",
               .x_label = "connections",
               .y_label = "confirms per second",
               .series = {}};
    for (const char* const type : {"quorum", "classic", "stream"}) {
      out.section(fmt::format("bare publisher, {} queue, {} messages of {} bytes", type, messages_, size_));
      plot_series series{.name = fmt::format("{} queue", type), .points = {}};
      for (const int connections : connections_) {
        std::vector<double> rates;
        for (int round = 0; round < rounds_; ++round) {
          empty_broker_log(on);
          rates.push_back(bare_publisher(on, type, messages_, size_, connections));
        }
        const auto rate = out.figure(fmt::format("{} connections", connections), rates, "confirms/s");
        series.points.push_back({static_cast<double>(connections), rate.median});
      }
      lines.series.push_back(std::move(series));
    }
    out.draw(lines);
  }

  void read(const setup& on, report& out) const {
    out.section(
        fmt::format("PostgreSQL alone: {} events read and marked in one session, reads of 1500", events_));
    std::vector<double> rates;
    for (int round = 0; round < rounds_; ++round) rates.push_back(reads_per_second(on));
    out.figure("one statement after the other", rates, "events/s");
  }

  double reads_per_second(const setup& on) const {
    stage where(on);
    where.fill({.events = events_, .size = size_});
    bare_reader one(where);
    const auto began = std::chrono::steady_clock::now();
    while (one.read_and_mark() > 0) continue;
    const auto took = std::chrono::steady_clock::now() - began;
    return static_cast<double>(events_) / std::chrono::duration<double>(took).count();
  }

  // The broker confirms at once and stores nothing, so only PostgreSQL and the relay are measured.
  void relay_alone(const setup& on, report& out) const {
    out.section(fmt::format("one relay: {} events to a queue that keeps nothing", events_));
    std::vector<double> rates;
    std::vector<double> cpu;
    for (int round = 0; round < rounds_; ++round) {
      stage where(on, test::queue_type::classic);
      const sink instead(on, where);
      const auto before = where.fill({.events = events_, .size = size_});
      relay running(on, where, {});
      auto session = where.connect();
      await("every event is marked", [&] {
        return session.number("SELECT count(*) FROM outbox.event WHERE status = 'pending'") == 0;
      });
      cpu.push_back(running.usage().cpu_seconds * 1e6 / static_cast<double>(events_));
      running.stop();
      rates.push_back(marked_per_second(session, before));
    }
    out.figure("drained", rates, "events/s");
    out.figure("relay CPU", cpu, "us/event");
  }

  static void tell(report& out, const std::string& what, const std::vector<double>& all) {
    out.figure(what + ", each", all, "ms");
    out.figure(what + ", p50", {percentile(all, 0.50)}, "ms");
    out.figure(what + ", p99", {percentile(all, 0.99)}, "ms");
  }

  std::int64_t messages_ = 100'000;
  std::int64_t events_ = 100'000;
  std::int64_t size_ = 200;
  std::vector<int> connections_{1, 4};
  int rounds_ = 3;
  int round_trips_ = 1000;
};

}  // namespace

std::unique_ptr<part> limit_part() {
  return std::make_unique<limit>();
}

}  // namespace outboxd::bench

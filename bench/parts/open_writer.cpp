// open: how long events wait while some transactions, with one event each, stay open and many others are
// committed.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "parts/part.hpp"
#include "stage/await.hpp"
#include "stage/delivery_times.hpp"
#include "stage/relay.hpp"

namespace outboxd::bench {
namespace {

using namespace std::chrono_literals;

class open_writer : public part {
 public:
  const char* name() const override { return "open"; }
  const char* help() const override {
    return "the age that events come to beside writers that stay open while many events are finished";
  }
  void be_quick() override {
    finished_ = 5'000;
    seconds_ = 1;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--finished", finished_, "events that come and go meanwhile")
        ->check(CLI::NonNegativeNumber);
    at.add_option("--open", open_, "writers that stay open")->check(CLI::Range(1, 1'000));
    at.add_option("--rates", rates_, "events per second, one after the other")
        ->delimiter(',')
        ->check(CLI::PositiveNumber);
    at.add_option("--seconds", seconds_, "at each rate")->check(CLI::PositiveNumber);
  }

  void run(const setup& on, report& out) override {
    out.note(
        fmt::format("{} events are finished, then {} s at each rate by 8 sessions", finished_, seconds_));
    stage where(on);
    {
      relay running(on, where);
      out.section("no writer stays open");
      measure(on, where, out);
      running.stop();
    }
    // Without a leader, writers do not notify, and their open transactions keep the next leader from becoming
    // idle.
    auto writer = where.connect();
    writer.exec("BEGIN; " + numbered_insert(where, "outbox", 0));
    auto others = where.connect();
    prepare_others(where, others);
    relay running(on, where);
    out.section(open_ == 1 ? "a writer stays open" : fmt::format("{} writers stay open", open_));
    const double oldest = measure(on, where, out);
    writer.exec("COMMIT");
    for (int i = 1; i < open_; ++i) others.exec(fmt::format("COMMIT PREPARED 'open-{}'", i));
    await(
        "their events are delivered", [&] { return where.messages() == open_; }, 30s, 10ms);
    running.stop();
    out.section("bar");
    out.key("open_writer_age_ms", oldest);
  }

 private:
  // Prepared transactions count as in progress, like those with their own session, but a server allows more
  // of them. A transaction that notifies cannot be prepared.
  void prepare_others(const stage& where, test::database& by) const {
    by.exec("SET outbox.notify = off");
    for (int i = 1; i < open_; ++i)
      by.exec(
          fmt::format("BEGIN; {}; PREPARE TRANSACTION 'open-{}'", numbered_insert(where, "outbox", 0), i));
  }

  // The highest age of an event.
  double measure(const setup& on, stage& where, report& out) const {
    auto session = where.connect();
    where.insert(session, {.events = finished_});
    await("they are finished",
          [&] { return session.number("SELECT count(*) FROM outbox.event WHERE status = 'pending'") == 0; });
    double oldest = 0;
    for (const double rate : rates_) {
      const auto times = time_deliveries(
          on, where, {.events_per_second = rate, .duration = std::chrono::seconds(seconds_), .writers = 8},
          [&](std::int64_t n) { return numbered_insert(where, "outbox", n); });
      out.figure(fmt::format("commit to consumer at {}/s: p50", rate), {percentile(times.ms, 0.50)}, "ms");
      out.figure(fmt::format("commit to consumer at {}/s: p99", rate), {percentile(times.ms, 0.99)}, "ms");
      out.figure(fmt::format("commit to consumer at {}/s: the oldest", rate), {percentile(times.ms, 1)},
                 "ms");
      oldest = std::max(oldest, percentile(times.ms, 1));
    }
    return oldest;
  }

  std::int64_t finished_ = 300'000;
  std::vector<double> rates_{5, 200, 1000};
  int open_ = 1;
  int seconds_ = 10;
};

}  // namespace

std::unique_ptr<part> open_writer_part() {
  return std::make_unique<open_writer>();
}

}  // namespace outboxd::bench

// idle: the cost of a relay that has nothing to do.
#include <fmt/format.h>

#include <optional>
#include <thread>

#include "parts/part.hpp"
#include "stage/arrivals.hpp"
#include "stage/await.hpp"
#include "stage/relay.hpp"
#include "stage/statement_log.hpp"

namespace outboxd::bench {
namespace {

using namespace std::chrono_literals;

class idle : public part {
 public:
  const char* name() const override { return "idle"; }
  const char* help() const override {
    return "CPU, wake-ups, statements and memory of a relay with nothing to do";
  }
  void be_quick() override {
    seconds_ = 3;
    settle_seconds_ = 2;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--seconds", seconds_, "watched")->check(CLI::PositiveNumber);
    at.add_option("--settle-seconds", settle_seconds_, "between the last event and that")
        ->check(CLI::NonNegativeNumber);
  }

  void run(const setup& on, report& out) override {
    stage where(on);
    std::optional<statement_log> statements;
    if (on.own_servers) statements.emplace(where);
    relay running(on, where);
    have_worked(on, where);
    std::this_thread::sleep_for(std::chrono::seconds(settle_seconds_));

    const auto used_before = running.usage();
    const auto statements_before = statements ? statements->count() : 0;
    std::this_thread::sleep_for(std::chrono::seconds(seconds_));
    const auto used = running.usage();
    const auto statements_after = statements ? statements->count() : 0;
    running.stop();

    const double seconds = seconds_;
    out.section(fmt::format("default settings, watched for {} s", seconds_));
    out.figure("CPU", {(used.cpu_seconds - used_before.cpu_seconds) * 1e6 / seconds}, "us/s");
    out.figure("wake-ups", {(used.wake_ups - used_before.wake_ups) / seconds}, "/s");
    out.figure("peak memory", {used.peak_rss_mb}, "MB");
    if (!statements) {
      out.note("Statements are counted in the log of our own server only.");
      return;
    }
    const double rate = static_cast<double>(statements_after - statements_before) / seconds;
    out.figure("statements", {rate}, "/s");
    out.key("idle_statements_per_s", rate);
  }

 private:
  // A relay that has already relayed events: every lane is connected, and start-up work is done.
  static void have_worked(const setup& on, stage& where) {
    arrivals came(on, where.queue());
    auto session = where.connect();
    where.insert(session, {.events = 100, .aggregates = 100});
    await(
        "the relay is at work", [&] { return came.count() == 100; }, 60s, 10ms);
  }

  int seconds_ = 30;
  int settle_seconds_ = 5;
};

}  // namespace

std::unique_ptr<part> idle_part() {
  return std::make_unique<idle>();
}

}  // namespace outboxd::bench

// poison: what good events notice of rows that broker or database take ill, and of a queue that never
// confirms.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "parts/part.hpp"
#include "stage/delivery_times.hpp"
#include "stage/relay.hpp"
#include "support/broker.hpp"
#include "support/poison.hpp"
#include "support/suspended_queue.hpp"

namespace outboxd::bench {
namespace {

// Of one round.
struct latencies {
  std::vector<double> p50, p99, most;

  void add(const std::vector<double>& round) {
    p50.push_back(percentile(round, 0.50));
    p99.push_back(percentile(round, 0.99));
    most.push_back(percentile(round, 1));
  }
};

enum class company {
  none,
  odd_rows,      // each of the table once
  silent_queue,  // an event in a hundred goes to one that never confirms
};

class poison : public part {
 public:
  const char* name() const override { return "poison"; }
  const char* help() const override {
    return "commit to consumer of good events beside odd ones, and beside a queue that never confirms";
  }
  void be_quick() override {
    rate_ = 100;
    seconds_ = 2;
    rounds_ = 1;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--rate", rate_, "good events per second")->check(CLI::PositiveNumber);
    at.add_option("--seconds", seconds_, "of each run; the odd rows are spread over it")
        ->check(CLI::PositiveNumber);
    at.add_option("--rounds", rounds_)->check(CLI::Range(1, 100));
  }

  void run(const setup& on, report& out) override {
    out.note(fmt::format(
        "two relays, amqp.confirm_timeout 1 s, {} good events per second for {} s by 8 sessions, quorum "
        "queue; alone, with {} odd rows among them, and with every hundredth event to a queue that never "
        "confirms",
        rate_, seconds_, odd_.size()));
    stage where(on, test::queue_type::quorum, /*autovacuum=*/true);
    test::broker broker(on.amqp_url);
    broker.declare_exchange("outbox");  // where odd rows go that name no exchange
    broker.bind(where.queue(), "outbox", where.event_type() + ".#");
    for (int round = 1; round <= rounds_; ++round) {
      auto order = all_;
      if (round % 2 == 0) std::reverse(order.begin(), order.end());
      for (const company with : order) measure(on, where, broker, with);
      out.note(fmt::format("round {} of {} is through", round, rounds_));
    }
    tell(out, "good events alone", company::none);
    tell(out, "beside odd rows", company::odd_rows);
    tell(out, "beside a queue that never confirms", company::silent_queue);
    out.section("bars");
    out.key("poison_p99_ms", spread_of(times_of(company::odd_rows).p99).median);
    out.key("silent_queue_p99_ms", spread_of(times_of(company::silent_queue).p99).median);
  }

 private:
  latencies& times_of(company with) { return times_.at(static_cast<std::size_t>(with)); }

  void measure(const setup& on, stage& where, test::broker& broker, company with) {
    where.connect().exec("TRUNCATE outbox.event");
    const std::string silent = where.queue() + "-silent";
    std::optional<test::suspended_queue> hangs;
    if (with == company::silent_queue) {
      broker.declare_queue(silent, test::queue_type::classic);
      hangs.emplace(silent);
    }
    const std::vector<std::string> flags{"--retry-schedule", "100ms", "--amqp-confirm-timeout", "1s"};
    relay one(on, where, flags), other(on, where, flags);
    const auto events = static_cast<std::size_t>(rate_) * static_cast<std::size_t>(seconds_);
    const std::size_t apart = std::max<std::size_t>(1, events / odd_.size());
    std::int64_t first = -1;  // before it comes one event ahead
    const auto times = time_deliveries(
        on, where,
        {.events_per_second = static_cast<double>(rate_),
         .duration = std::chrono::milliseconds(seconds_ * 1000),
         .writers = 8},
        [&](std::int64_t n) {
          auto statement = numbered_insert(where, "outbox", n);
          if (first < 0) {
            first = n + 1;
            return statement;
          }
          const auto at = static_cast<std::size_t>(n - first);
          if (with == company::odd_rows && at % apart == 0 && at / apart < odd_.size())
            statement += "; " + test::insert_statement(odd_[at / apart], fmt::format("odd {}", at),
                                                       where.event_type());
          if (with == company::silent_queue && at % 100 == 0)
            statement += fmt::format(
                "; INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, exchange, "
                "routing_key, payload) VALUES ('silent', '{}', 'silent', '', '{}', '{{}}')",
                at, silent);
          return statement;
        });
    if (times.missing > 0) throw std::runtime_error("good events have not come within ten seconds");
    times_of(with).add(times.ms);
    one.kill();  // it would wait for what will not be confirmed
    other.kill();
    hangs.reset();
    if (with == company::silent_queue) broker.delete_queue(silent);
  }

  void tell(report& out, const char* name, company with) {
    out.section(name);
    out.figure("p50", times_of(with).p50, "ms");
    out.figure("p99", times_of(with).p99, "ms");
    out.figure("the longest", times_of(with).most, "ms");
  }

  static constexpr std::array all_{company::none, company::odd_rows, company::silent_queue};
  const std::vector<test::poison> odd_ = test::poisons();
  int rate_ = 1'000;
  int seconds_ = 10;
  int rounds_ = 3;
  std::array<latencies, all_.size()> times_;
};

}  // namespace

std::unique_ptr<part> poison_part() {
  return std::make_unique<poison>();
}

}  // namespace outboxd::bench

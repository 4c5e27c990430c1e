// poison: what good events notice of odd ones: commit to consumer beside rows that a broker or a database takes ill.
#include <fmt/format.h>

#include "parts/part.hpp"
#include "stage/delivery_times.hpp"
#include "stage/relay.hpp"
#include "support/broker.hpp"
#include "support/poison.hpp"

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

class poison : public part {
 public:
  const char* name() const override { return "poison"; }
  const char* help() const override { return "commit to consumer of good events beside odd ones"; }
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
    out.note(
        fmt::format("two relays, {} good events per second for {} s by 8 sessions, quorum queue; in one of "
                    "two runs {} odd "
                    "rows among them",
                    rate_, seconds_, odd_.size()));
    stage where(on, test::queue_type::quorum, /*autovacuum=*/true);
    test::broker broker(on.amqp_url);
    broker.declare_exchange("outbox");  // where odd rows go that name no exchange
    broker.bind(where.queue(), "outbox", where.event_type() + ".#");
    for (int round = 1; round <= rounds_; ++round) {
      for (const bool with : {round % 2 == 0, round % 2 == 1}) measure(on, where, with);
      out.note(fmt::format("round {} of {} is through", round, rounds_));
    }
    tell(out, "good events alone", alone_);
    tell(out, "beside odd ones", beside_);
    out.section("bar");
    out.key("poison_p99_ms", spread_of(beside_.p99).median);
  }

 private:
  void measure(const setup& on, stage& where, bool with) {
    where.connect().exec("TRUNCATE outbox.event");
    const std::vector<std::string> flags{"--retry-schedule", "100ms"};
    relay one(on, where, flags), other(on, where, flags);
    const std::size_t events = static_cast<std::size_t>(rate_) * static_cast<std::size_t>(seconds_);
    const std::size_t apart = std::max<std::size_t>(1, events / odd_.size());
    std::int64_t first = -1;  // before it comes one event ahead
    const auto times = time_deliveries(
        on, where,
        {.events_per_second = static_cast<double>(rate_),
         .duration = std::chrono::milliseconds(seconds_ * 1000),
         .writers = 8},
        [&](std::int64_t n) {
          if (first < 0) first = n + 1;
          const auto at = static_cast<std::size_t>(std::max<std::int64_t>(n - first, 0));
          auto statement = numbered_insert(where, "outbox", n);
          if (with && n >= first && at % apart == 0 && at / apart < odd_.size())
            statement += "; " + test::insert_statement(odd_[at / apart], fmt::format("odd {}", at),
                                                       where.event_type());
          return statement;
        });
    if (times.missing > 0) throw std::runtime_error("good events have not come within ten seconds");
    (with ? beside_ : alone_).add(times.ms);
    one.stop();
    other.stop();
  }

  static void tell(report& out, const char* name, const latencies& of) {
    out.section(name);
    out.figure("p50", of.p50, "ms");
    out.figure("p99", of.p99, "ms");
    out.figure("the longest", of.most, "ms");
  }

  const std::vector<test::poison> odd_ = test::poisons();
  int rate_ = 1'000;
  int seconds_ = 10;
  int rounds_ = 3;
  latencies alone_, beside_;
};

}  // namespace

std::unique_ptr<part> poison_part() {
  return std::make_unique<poison>();
}

}  // namespace outboxd::bench

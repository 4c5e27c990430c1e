// poison: the effect on good events of rows that the broker or database rejects, of a queue that never
// confirms, and of queues that no longer exist.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "parts/part.hpp"
#include "stage/delivery_times.hpp"
#include "stage/relay.hpp"
#include "support/broker.hpp"
#include "support/eventually.hpp"
#include "support/free_port.hpp"
#include "support/http_client.hpp"
#include "support/metrics_text.hpp"
#include "support/poison.hpp"
#include "support/suspended_queue.hpp"

namespace outboxd::bench {
namespace {

// Results of one round.
struct latencies_beside {
  std::vector<double> p50, p99, most;

  void add(const std::vector<double>& round) {
    p50.push_back(percentile(round, 0.50));
    p99.push_back(percentile(round, 0.99));
    most.push_back(percentile(round, 1));
  }
};

enum class company {
  none,
  odd_rows,      // each odd row once
  silent_queue,  // one event in a hundred goes to a queue that never confirms
  gone_queues,   // events wait for many reply queues that nobody will declare again
};

class poison : public part {
 public:
  const char* name() const override { return "poison"; }
  const char* help() const override {
    return "commit to consumer of good events beside odd ones, a queue that never confirms, and queues that "
           "are "
           "gone";
  }
  void be_quick() override {
    rate_ = 100;
    seconds_ = 2;
    gone_ = 100;
    rounds_ = 1;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--rate", rate_, "good events per second")->check(CLI::PositiveNumber);
    at.add_option("--seconds", seconds_, "of each run; the odd rows are spread over it")
        ->check(CLI::PositiveNumber);
    at.add_option("--gone", gone_, "reply queues that are gone")->check(CLI::PositiveNumber);
    at.add_option("--rounds", rounds_)->check(CLI::Range(1, 100));
  }

  void run(const setup& on, report& out) override {
    out.note(fmt::format(
        "two relays, amqp.confirm_timeout 1 s, {} good events per second for {} s by 8 sessions, quorum "
        "queue; alone, with {} odd rows among them, with every hundredth event to a queue that never "
        "confirms, and while an event waits for each of {} queues that are gone",
        rate_, seconds_, odd_.size(), gone_));
    stage where(on, test::queue_type::quorum, /*autovacuum=*/true);
    test::broker broker(on.amqp_url);
    broker.declare_exchange("outbox");  // receives odd rows that name no exchange
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
    tell(out, "beside queues that are gone", company::gone_queues);
    out.figure("publishes to those", probes_per_second_, "/s");
    out.section("bars");
    out.key("poison_p99_ms", spread_of(times_of(company::odd_rows).p99).median);
    out.key("silent_queue_p99_ms", spread_of(times_of(company::silent_queue).p99).median);
    out.key("gone_queues_p99_ratio", spread_of(times_of(company::gone_queues).p99).median /
                                         spread_of(times_of(company::none).p99).median);
    out.key("gone_queues_publishes", spread_of(probes_per_second_).median);
  }

 private:
  latencies_beside& times_of(company with) { return times_.at(static_cast<std::size_t>(with)); }

  void measure(const setup& on, stage& where, test::broker& broker, company with) {
    where.connect().exec("TRUNCATE outbox.event");
    const std::string silent = where.queue() + "-silent";
    std::optional<test::suspended_queue> hangs;
    if (with == company::silent_queue) {
      broker.declare_queue(silent, test::queue_type::classic);
      hangs.emplace(silent);
    }
    const auto flags = [](int port) {
      return std::vector<std::string>{
          "--retry-schedule",       "100ms", "--retry-give-up-after", "1h",
          "--amqp-confirm-timeout", "1s",    "--http-listen",         fmt::format("127.0.0.1:{}", port)};
    };
    const std::array ports{test::free_port(), test::free_port()};
    relay one(on, where, flags(ports[0])), other(on, where, flags(ports[1]));
    test::eventually("the relays are ready", [&] { return one.ready() && other.ready(); });
    if (with == company::gone_queues) add_gone(where);
    const auto failures = failures_of(ports);
    const auto since = std::chrono::steady_clock::now();
    const auto events = static_cast<std::size_t>(rate_) * static_cast<std::size_t>(seconds_);
    const std::size_t apart = std::max<std::size_t>(1, events / odd_.size());
    std::int64_t first = -1;  // preceded by one event that is not measured
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
    if (with == company::gone_queues)
      probes_per_second_.push_back(
          (failures_of(ports) - failures) /
          std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count());
    one.kill();  // it would wait for confirms that never arrive
    other.kill();
    hangs.reset();
    if (with == company::silent_queue) broker.delete_queue(silent);
  }

  // Returns when all of them are waiting.
  void add_gone(stage& where) const {
    auto session = where.connect();
    session.exec(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, exchange, routing_key)"
        " SELECT 'reply', n, 'reply', '{}', '', $1 || n FROM generate_series(1, $2::int) AS n",
        {where.queue() + "-gone-", std::to_string(gone_)});
    test::eventually("an event waits for each of the queues", [&] {
      return session.number("SELECT count(*) FROM outbox.event WHERE exception = 'backing_off'") == gone_;
    });
  }

  // Returned publishes of both relays.
  static double failures_of(const std::array<int, 2>& ports) {
    double out = 0;
    for (const auto port : ports) {
      const auto text = test::http_client(static_cast<std::uint16_t>(port)).get("/metrics").body;
      out += std::max(0.0, test::value_of(text, "outboxd_publish_failures_total{reason=\"returned\"}"));
    }
    return out;
  }

  void tell(report& out, const char* name, company with) {
    out.section(name);
    out.figure("p50", times_of(with).p50, "ms");
    out.figure("p99", times_of(with).p99, "ms");
    out.figure("the longest", times_of(with).most, "ms");
  }

  static constexpr std::array all_{company::none, company::odd_rows, company::silent_queue,
                                   company::gone_queues};
  const std::vector<test::poison> odd_ = test::poisons();
  int rate_ = 1'000;
  int seconds_ = 10;
  int rounds_ = 3;
  int gone_ = 3'000;
  std::vector<double> probes_per_second_;
  std::array<latencies_beside, all_.size()> times_;
};

}  // namespace

std::unique_ptr<part> poison_part() {
  return std::make_unique<poison>();
}

}  // namespace outboxd::bench

// hot: the cost of one aggregate having most or all of the events.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>

#include "parts/part.hpp"
#include "stage/bare_publisher.hpp"
#include "stage/drain.hpp"

namespace outboxd::bench {
namespace {

enum class crowd_of { many, one, zipf };

struct hot_case {
  crowd_of aggregates;
  std::string order;
  bool operator<(const hot_case& other) const {
    return std::tie(aggregates, order) < std::tie(other.aggregates, other.order);
  }
};

// Draws an aggregate for each event: the k-th aggregate gets a share proportional to 1 / k^1.1.
std::vector<int> zipf_draws(std::int64_t events, int aggregates) {
  std::vector<double> weights;
  for (int k = 1; k <= aggregates; ++k) weights.push_back(std::pow(k, -1.1));
  std::discrete_distribution<int> draw(weights.begin(), weights.end());
  std::mt19937 chance(7);
  std::vector<int> out;
  for (std::int64_t n = 0; n < events; ++n) out.push_back(draw(chance));
  return out;
}

class hot : public part {
 public:
  const char* name() const override { return "hot"; }
  const char* help() const override {
    return "drains where one aggregate has all events, or the part of them that Zipf's law gives it";
  }
  void be_quick() override {
    fill_.events = 3'000;
    rounds_ = 1;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--events", fill_.events, "to drain in each round")->check(CLI::PositiveNumber);
    at.add_option("--size", fill_.size, "bytes of payload")->check(CLI::NonNegativeNumber);
    at.add_option("--zipf-aggregates", zipf_aggregates_)->check(CLI::Range(1, 1'000'000));
    at.add_option("--rounds", rounds_)->check(CLI::Range(1, 100));
  }

  void run(const setup& on, report& out) override {
    draws_ = zipf_draws(fill_.events, zipf_aggregates_);
    hottest_ = static_cast<double>(std::ranges::count(draws_, 0)) / static_cast<double>(draws_.size());
    out.note(fmt::format(
        "{} events of {} bytes, quorum queue: in {} aggregates, in one, and in {} by Zipf's law with an "
        "exponent of 1.1, of which the hottest has {:.1f} %; beside them a bare publisher with one message "
        "in flight",
        fill_.events, fill_.body_bytes(), fill_.aggregates, zipf_aggregates_, hottest_ * 100));
    for (int round = 1; round <= rounds_; ++round) {
      alone_.push_back(bare_publisher(on, "quorum", std::max<std::int64_t>(fill_.events / 10, 100),
                                      fill_.body_bytes(), 1, /*window=*/1));
      for (const auto& order : {"pipelined", "strict"})
        for (const auto aggregates : {crowd_of::many, crowd_of::one, crowd_of::zipf})
          drained_[{aggregates, order}].push_back(drain_once(on, {aggregates, order}));
      out.note(fmt::format("round {} of {} is through", round, rounds_));
    }
    out.section("bare publisher, one message in flight");
    out.figure("confirmed", alone_, "/s");
    for (const auto& [which, rounds] : drained_) tell(out, which, rounds);
    tell_promised(out);
  }

 private:
  drained drain_once(const setup& on, const hot_case& how) const {
    stage where(on);
    auto session = where.connect();
    std::string of = fmt::format("n * 7919 % {}", fill_.aggregates);
    if (how.aggregates == crowd_of::one) of = "1";
    if (how.aggregates == crowd_of::zipf) of = "($4::int[])[n]";
    session.exec(
        fmt::format("INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, exchange, payload)"
                    " SELECT 'order', ({0})::text, $1, $2,"
                    " jsonb_build_object('a', {0}, 'n', n, 'text', repeat('x', $3::int))"
                    " FROM generate_series(1, cardinality($4::int[])) AS n",
                    of),
        {where.event_type(), where.exchange(), std::to_string(fill_.size),
         fmt::format("{{{}}}", fmt::join(draws_, ","))});
    session.exec("VACUUM ANALYZE outbox.event");
    where.come_to_rest(session);
    return drain(on, where, 0, fill_.events, {"--relay-order", how.order});
  }

  static const char* words(crowd_of aggregates) {
    switch (aggregates) {
      case crowd_of::many:
        return "many aggregates";
      case crowd_of::one:
        return "one aggregate";
      case crowd_of::zipf:
        return "Zipf's law";
    }
    return "";
  }

  static void tell(report& out, const hot_case& which, const std::vector<drained>& rounds) {
    out.section(fmt::format("{}, {}", words(which.aggregates), which.order));
    const auto all = [&](double drained::*what) {
      std::vector<double> each;
      for (const auto& one : rounds) each.push_back(one.*what);
      return each;
    };
    out.figure("drained", all(&drained::events_per_second), "events/s");
    out.figure("relay CPU", all(&drained::cpu_us_per_event), "us/event");
    out.figure("CPU of its PostgreSQL sessions", all(&drained::server_cpu_us_per_event), "us/event");
    out.figure("WAL", all(&drained::wal_bytes_per_event), "bytes/event");
  }

  // Per round: the rate reached, relative to the possible rate.
  template <class Figure>
  double median(Figure&& figure) const {
    std::vector<double> out;
    for (std::size_t round = 0; round < alone_.size(); ++round) out.push_back(figure(round));
    return spread_of(out).median;
  }

  void tell_promised(report& out) const {
    const auto rate = [this](crowd_of aggregates, const char* order, std::size_t round) {
      return drained_.at({aggregates, order})[round].events_per_second;
    };
    const auto wal = [this](crowd_of aggregates, const char* order, std::size_t round) {
      return drained_.at({aggregates, order})[round].wal_bytes_per_event;
    };
    out.section("bars");
    out.key("hot_pipelined_ratio", median([&](std::size_t n) {
              return rate(crowd_of::one, "pipelined", n) / rate(crowd_of::many, "pipelined", n);
            }));
    out.key("hot_zipf_pipelined_ratio", median([&](std::size_t n) {
              return rate(crowd_of::zipf, "pipelined", n) / rate(crowd_of::many, "pipelined", n);
            }));
    out.key("hot_strict_ratio",
            median([&](std::size_t n) { return rate(crowd_of::one, "strict", n) / alone_[n]; }));
    out.key("hot_zipf_strict_ratio", median([&](std::size_t n) {
              const double allowed = rate(crowd_of::one, "strict", n) / hottest_;
              return rate(crowd_of::zipf, "strict", n) / std::min(allowed, rate(crowd_of::many, "strict", n));
            }));
    out.key("hot_wal_ratio", median([&](std::size_t n) {
              double most = 0;
              for (const char* order : {"pipelined", "strict"})
                for (const auto aggregates : {crowd_of::one, crowd_of::zipf})
                  most = std::max(most, wal(aggregates, order, n) / wal(crowd_of::many, order, n));
              return most;
            }));
  }

  filling fill_{.events = 50'000};
  int zipf_aggregates_ = 5'000;
  int rounds_ = 3;
  std::vector<int> draws_;  // the aggregate of each event
  double hottest_ = 0;      // the hottest aggregate's share of the events
  std::vector<double> alone_;
  std::map<hot_case, std::vector<drained>> drained_;
};

}  // namespace

std::unique_ptr<part> hot_part() {
  return std::make_unique<hot>();
}

}  // namespace outboxd::bench

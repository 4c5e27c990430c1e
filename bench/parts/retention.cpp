// retention: what it costs a drain that old published events are deleted meanwhile.
#include <fmt/format.h>

#include <algorithm>

#include "parts/part.hpp"
#include "stage/drain.hpp"

namespace outboxd::bench {
namespace {

class retention : public part {
 public:
  const char* name() const override { return "retention"; }
  const char* help() const override {
    return "drain while a million old published events are being deleted, beside a drain that leaves them";
  }
  void be_quick() override {
    fill_.events = 5'000;
    old_ = 5'000;
    rounds_ = 1;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--old", old_, "published events that are old; 1000000 for the promised ratio")
        ->check(CLI::PositiveNumber);
    at.add_option("--events", fill_.events, "of each drain")->check(CLI::PositiveNumber);
    at.add_option("--size", fill_.size, "bytes of payload")->check(CLI::NonNegativeNumber);
    at.add_option("--lanes", lanes_)->check(CLI::Range(1, 64));
    at.add_option("--rounds", rounds_)->check(CLI::Range(1, 100));
  }

  void run(const setup& on, report& out) override {
    out.note(fmt::format(
        "{} events of {} bytes, {} lanes, quorum queue; before each drain the table has {} events "
        "that were published 8 days ago; retention.published is 7d or never",
        fill_.events, fill_.size, lanes_, old_));
    stage where(on);
    for (int round = 1; round <= rounds_; ++round) {
      // What runs second may find warmer caches, or a machine that has become busier.
      for (const bool deleting : {round % 2 == 0, round % 2 == 1}) drain_once(on, where, deleting);
      out.note(fmt::format("round {}: {:.0f} events/s, {:.0f} while {:.0f} were deleted", round,
                           leaving_.back().events_per_second, deleting_.back().events_per_second,
                           deleted_.back()));
    }
    tell(out, "never", leaving_);
    tell(out, "7d", deleting_);
    out.figure("deleted meanwhile", deleted_, "events");
    out.section("ratio");
    // Of a server that is not our own it is not known.
    if (const auto cpu = ratios(&drained::server_cpu_us_per_event); !cpu.empty())
      out.figure("CPU of the PostgreSQL sessions: 7d / never", cpu, "");
    out.key("retention_ratio",
            out.figure("drained: 7d / never", ratios(&drained::events_per_second), "").median);
    out.draw({.title = "Drain: retention.published 7d and never",
              .x_label = "round",
              .y_label = "events per second",
              .series = {series("never", leaving_), series("7d", deleting_)}});
  }

 private:
  std::int64_t old_events(test::database& session) const {
    return session.number("SELECT count(*) FROM outbox.event WHERE published_at < now() - interval '7 d'");
  }

  // In portions, as events are published: one transaction of a million rows is another thing.
  void bring_old_ones(const stage& where, test::database& session) const {
    for (auto left = old_ - old_events(session); left > 0; left -= portion_)
      session.exec(
          "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, exchange, payload, status, "
          "created_at, published_at)"
          " SELECT 'order', (n * 7919 % $1::bigint)::text, $2, $3,"
          " jsonb_build_object('n', n, 'text', repeat('x', $4::int)), 'published', now() - interval '8 d',"
          " now() - interval '8 d' FROM generate_series(1, $5::bigint) AS n",
          {std::to_string(fill_.aggregates), where.event_type(), where.exchange(), std::to_string(fill_.size),
           std::to_string(std::min(left, portion_))});
  }

  void drain_once(const setup& on, stage& where, bool deleting) {
    auto session = where.connect();
    bring_old_ones(where, session);
    const auto before = where.fill(fill_);
    (deleting ? deleting_ : leaving_)
        .push_back(drain(
            on, where, before, fill_.events,
            {"--relay-lanes", std::to_string(lanes_), "--retention-published", deleting ? "7d" : "never"}));
    const auto left = old_events(session);
    if (deleting) deleted_.push_back(static_cast<double>(old_ - left));
    // Or something else was measured.
    if (deleting == (left == old_))
      throw std::runtime_error(fmt::format("{} of {} old events are left with retention.published = {}", left,
                                           old_, deleting ? "7d" : "never"));
    where.clear(before);
  }

  static std::vector<double> all(const std::vector<drained>& of, double drained::*what) {
    std::vector<double> out;
    for (const auto& one : of) out.push_back(one.*what);
    return out;
  }
  static void tell(report& out, const char* name, const std::vector<drained>& of) {
    out.section(fmt::format("retention.published = {}", name));
    out.figure("drained", all(of, &drained::events_per_second), "events/s");
    out.figure("relay CPU", all(of, &drained::cpu_us_per_event), "us/event");
    out.figure("CPU of its PostgreSQL sessions", all(of, &drained::server_cpu_us_per_event), "us/event");
    out.figure("WAL", all(of, &drained::wal_bytes_per_event), "bytes/event");
  }
  static plot_series series(const char* name, const std::vector<drained>& of) {
    plot_series out{.name = name, .points = {}};
    for (const auto& one : of)
      out.points.push_back({static_cast<double>(out.points.size() + 1), one.events_per_second});
    return out;
  }
  std::vector<double> ratios(double drained::*what) const {
    std::vector<double> out;
    for (std::size_t i = 0; i < leaving_.size(); ++i)
      if (leaving_[i].*what > 0) out.push_back(deleting_[i].*what / leaving_[i].*what);
    return out;
  }

  static constexpr std::int64_t portion_ = 250'000;
  filling fill_{.events = 400'000};
  std::int64_t old_ = 1'000'000;
  int lanes_ = default_lanes;
  int rounds_ = 4;
  std::vector<drained> leaving_;
  std::vector<drained> deleting_;
  std::vector<double> deleted_;
};

}  // namespace

std::unique_ptr<part> retention_part() {
  return std::make_unique<retention>();
}

}  // namespace outboxd::bench

// held: drains while a session holds an old snapshot, so that vacuum cannot remove index entries of finished
// events.
#include <fmt/format.h>

#include "parts/part.hpp"
#include "stage/await.hpp"
#include "stage/bare_reader.hpp"
#include "stage/drain.hpp"

namespace outboxd::bench {
namespace {

// A table with its relay, which keeps running through all rounds, as a daemon does.
class drained_table {
 public:
  drained_table(const setup& on, bool held, const std::vector<std::string>& flags)
      : where_(on), session_(where_.connect()), holder_(where_.connect()), reader_(where_) {
    if (held) holder_.exec("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM outbox.event");
    relay_.emplace(on, where_, flags);
  }

  void drain_once(const filling& how) {
    const auto before = session_.number("SELECT coalesce(max(seq), 0) FROM outbox.event");
    where_.insert(session_, how);
    total_ += how.events;
    await("every event is in the queue", [&] {
      if (!relay_->running()) throw std::runtime_error("outboxd run has ended: " + relay_->tail());
      return where_.messages() >= how.events;
    });
    await("every event is marked", [&] {
      return session_.number("SELECT count(*) FROM outbox.event WHERE status = 'published'") == total_;
    });
    rates.push_back(marked_per_second(session_, before));
    std::vector<double> empty;
    reader_.go_to_end();
    for (int i = 0; i < 11; ++i) empty.push_back(reader_.read_milliseconds());
    empty_reads.push_back(spread_of(empty).median);
    where_.purge();
    // Does the work of autovacuum, but not in the middle of a round.
    session_.exec("VACUUM ANALYZE outbox.event");
    where_.come_to_rest(session_);
  }
  void stop() { relay_->stop(); }

  std::vector<double> rates;
  std::vector<double> empty_reads;

 private:
  stage where_;
  test::database session_;
  test::database holder_;
  bare_reader reader_;
  std::optional<relay> relay_;
  std::int64_t total_ = 0;
};

plot_series series_of(const std::string& name, const std::vector<double>& values) {
  plot_series out{.name = name, .points = {}};
  for (const double value : values) out.points.push_back({static_cast<double>(out.points.size() + 1), value});
  return out;
}

class held_snapshot : public part {
 public:
  const char* name() const override { return "held"; }
  const char* help() const override {
    return "rounds of a drain while a REPEATABLE READ session is open, beside rounds without it";
  }
  void be_quick() override {
    fill_.events = 3'000;
    rounds_ = 3;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--events", fill_.events, "of each round")->check(CLI::PositiveNumber);
    at.add_option("--size", fill_.size, "bytes of payload")->check(CLI::NonNegativeNumber);
    at.add_option("--rounds", rounds_)->check(CLI::Range(2, 100));
    at.add_option("--lanes", lanes_)->check(CLI::Range(1, 64));
  }

  void run(const setup& on, report& out) override {
    out.note(fmt::format(
        "{} rounds of {} events of {} bytes, {} lanes, quorum queue; in one database a REPEATABLE READ "
        "session stays open, in the other not; one relay each, which runs through all rounds",
        rounds_, fill_.events, fill_.size, lanes_));
    const std::vector<std::string> flags{"--relay-lanes", std::to_string(lanes_)};
    drained_table held(on, true, flags);
    drained_table free(on, false, flags);
    for (int round = 1; round <= rounds_; ++round) {
      held.drain_once(fill_);
      free.drain_once(fill_);
      out.note(fmt::format(
          "round {}: {:.0f} events/s and {:.2f} ms for an empty read; without: {:.0f} and {:.2f}", round,
          held.rates.back(), held.empty_reads.back(), free.rates.back(), free.empty_reads.back()));
    }
    held.stop();
    free.stop();
    tell(out, "a snapshot is held", held);
    tell(out, "none is held", free);
    out.section("ratio");
    out.key("held_ratio", held.rates.back() / held.rates.front());
    out.draw({.title = "Drain while a snapshot is held",
              .x_label = "round",
              .y_label = "events per second",
              .series = {series_of("held", held.rates), series_of("none held", free.rates)}});
    out.draw({.title = "A read that finds nothing",
              .x_label = "round",
              .y_label = "ms",
              .series = {series_of("held", held.empty_reads), series_of("none held", free.empty_reads)}},
             "empty-read");
  }

 private:
  static void tell(report& out, const std::string& title, const drained_table& one) {
    out.section(title);
    out.figure("drained, all rounds", one.rates, "events/s");
    out.figure("drained, first round", {one.rates.front()}, "events/s");
    out.figure("drained, last round", {one.rates.back()}, "events/s");
    out.figure("empty read, first round", {one.empty_reads.front()}, "ms");
    out.figure("empty read, last round", {one.empty_reads.back()}, "ms");
  }

  filling fill_{.events = 50'000};
  int rounds_ = 10;
  int lanes_ = default_lanes;
};

}  // namespace

std::unique_ptr<part> held_part() {
  return std::make_unique<held_snapshot>();
}

}  // namespace outboxd::bench

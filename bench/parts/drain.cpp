// drain: how fast a relay empties a full table, compared with the bare publisher and the plain relay.
#include "stage/drain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "parts/part.hpp"
#include "stage/bare_publisher.hpp"
#include "stage/barest_drain.hpp"
#include "stage/broker_log.hpp"
#include "stage/instructions.hpp"
#include "stage/plain_outbox.hpp"

namespace outboxd::bench {
namespace {

constexpr int promised_lanes = default_lanes;
constexpr std::int64_t relay_batch = 1500;  // the default of relay.batch

struct drain_rounds {
  std::vector<drained> all;
  std::vector<double> bare;  // confirms/s of the bare publisher, around each round

  std::vector<double> of(double drained::*what) const {
    std::vector<double> out;
    for (const auto& one : all) out.push_back(one.*what);
    return out;
  }
  std::vector<double> ratios() const {
    std::vector<double> out;
    for (std::size_t i = 0; i < all.size(); ++i) out.push_back(all[i].events_per_second / bare[i]);
    return out;
  }
};

test::queue_type type_named(const std::string& name) {
  if (name == "stream") return test::queue_type::stream;
  return name == "quorum" ? test::queue_type::quorum : test::queue_type::classic;
}

class full_drain : public part {
 public:
  const char* name() const override { return "drain"; }
  const char* help() const override {
    return "a full outbox emptied by one relay, beside a bare publisher and the plain relay";
  }
  void be_quick() override {
    fill_.events = 5'000;
    plain_events_ = 300;
    counted_events_ = 600;
    lanes_ = {1, promised_lanes};
    rounds_ = 1;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--events", fill_.events)->check(CLI::PositiveNumber);
    at.add_option("--size", fill_.size, "bytes of the text in a payload")->check(CLI::NonNegativeNumber);
    at.add_option("--aggregates", fill_.aggregates)->check(CLI::PositiveNumber);
    at.add_option("--queue-types", queue_types_)
        ->delimiter(',')
        ->check(CLI::IsMember({"quorum", "classic", "stream"}));
    at.add_option("--lanes", lanes_, fmt::format("{} for the promised figures", promised_lanes))
        ->delimiter(',')
        ->check(CLI::Range(1, 64));
    at.add_option("--plain-events", plain_events_, "for the plain relay")->check(CLI::PositiveNumber);
    at.add_option("--rounds", rounds_)->check(CLI::Range(1, 100));
  }

  void run(const setup& on, report& out) override {
    out.note(fmt::format(
        "{} events of {} bytes in {} aggregates; before and after each round a bare publisher sends "
        "as many messages over as many connections as there are lanes",
        fill_.events, fill_.body_bytes(), fill_.aggregates));
    plot lines{
        .title = "Drain and bare publisher", .x_label = "lanes", .y_label = "per second", .series = {}};
    for (const auto& type : queue_types_) drain_with(on, out, type, lines);
    out.draw(lines);
    out.section("a small drain under valgrind");
    if (const auto count = instructions_per_event(on, {.events = counted_events_}))
      out.figure("relay instructions in user space", {*count}, "/event");
    else
      out.note("valgrind is not installed: instructions are not counted");
  }

 private:
  void drain_with(const setup& on, report& out, const std::string& type, plot& lines) const {
    plot_series ours{.name = "outboxd, " + type, .points = {}};
    plot_series bare{.name = "bare publisher, " + type, .points = {}};
    for (const int lanes : lanes_) {
      drain_rounds rounds;
      std::vector<double> plain;
      std::vector<double> barest;
      const bool promised = lanes == promised_lanes && type != "stream";
      for (int round = 0; round < rounds_; ++round) {
        const double before = bare_once(on, type, lanes);
        rounds.all.push_back(drain_once(on, type_named(type), lanes));
        const double after = bare_once(on, type, lanes);
        rounds.bare.push_back((before + after) / 2);
        if (promised && type == "quorum") plain.push_back(plain_once(on));
        if (promised) barest.push_back(barest_once(on, type) / rounds.bare.back());
      }
      out.section(fmt::format("{} queue, {} lanes", type, lanes));
      const double rate = tell(out, rounds);
      ours.points.push_back({static_cast<double>(lanes), rate});
      bare.points.push_back({static_cast<double>(lanes), spread_of(rounds.bare).median});
      if (promised) {
        out.figure("barest reads and marks beside a bare publisher / bare publisher", barest, "");
        tell_promised(out, type, rounds, plain);
      }
    }
    lines.series.push_back(std::move(ours));
    lines.series.push_back(std::move(bare));
  }

  double bare_once(const setup& on, const std::string& type, int lanes) const {
    empty_broker_log(on);
    return bare_publisher(on, type, fill_.events, fill_.body_bytes(), lanes);
  }

  drained drain_once(const setup& on, test::queue_type type, int lanes) const {
    stage where(on, type);
    const auto before = where.fill(fill_);
    return drain(on, where, before, fill_.events, {"--relay-lanes", std::to_string(lanes)});
  }

  // The broker's rate when only reading and marking happen at the same time.
  double barest_once(const setup& on, const std::string& type) const {
    stage where(on);
    make_room_for_marks(where);
    const auto before = where.fill(fill_);
    return barest_drain(on, where, type, before, fill_, promised_lanes, relay_batch);
  }

  double plain_once(const setup& on) const {
    stage where(on);
    create_plain_outbox(where);
    auto fill = fill_;
    fill.events = plain_events_;
    return plain_drain(on, where, fill).events_per_second;
  }

  static double tell(report& out, const drain_rounds& rounds) {
    const auto rate = out.figure("drained", rounds.of(&drained::events_per_second), "events/s");
    out.figure("bare publisher", rounds.bare, "confirms/s");
    out.figure("drained / bare publisher", rounds.ratios(), "");
    out.figure("relay CPU", rounds.of(&drained::cpu_us_per_event), "us/event");
    out.figure("CPU of its PostgreSQL sessions", rounds.of(&drained::server_cpu_us_per_event), "us/event");
    out.figure("round trips to PostgreSQL (commits)", rounds.of(&drained::commits_per_1000_events),
               "/1000 events");
    out.figure("WAL", rounds.of(&drained::wal_bytes_per_event), "bytes/event");
    out.figure("relay peak memory", rounds.of(&drained::peak_rss_mb), "MB");
    return rate.median;
  }

  static void tell_promised(report& out, const std::string& type, const drain_rounds& rounds,
                            const std::vector<double>& plain) {
    const double ratio = spread_of(rounds.ratios()).median;
    if (type == "classic") {
      out.key("drain_classic_ratio", ratio);
      return;
    }
    out.key("drain_quorum_ratio", ratio);
    out.key("cpu_us_per_event", spread_of(rounds.of(&drained::cpu_us_per_event)).median);
    const double server = spread_of(rounds.of(&drained::server_cpu_us_per_event)).median;
    if (server > 0) out.key("pg_cpu_us_per_event", server);
    out.figure("plain relay, a pool of 5", plain, "events/s");
    std::vector<double> times;
    for (std::size_t i = 0; i < plain.size(); ++i)
      times.push_back(rounds.all[i].events_per_second / plain[i]);
    out.key("drain_vs_plain", out.figure("drained / plain relay", times, "").median);
  }

  filling fill_{.events = 300'000};
  std::vector<std::string> queue_types_{"quorum", "classic"};
  std::vector<int> lanes_{1, promised_lanes, 4};
  std::int64_t plain_events_ = 10'000;
  std::int64_t counted_events_ = 12'000;  // events drained under valgrind
  int rounds_ = 3;
};

}  // namespace

std::unique_ptr<part> drain_part() {
  return std::make_unique<full_drain>();
}

}  // namespace outboxd::bench

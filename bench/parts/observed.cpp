// observed: what it costs a relay to be watched: scraped every second, and beset by slow HTTP clients.
#include <fmt/format.h>

#include "parts/part.hpp"
#include "stage/crowd.hpp"
#include "stage/drain.hpp"
#include "support/free_port.hpp"

namespace outboxd::bench {
namespace {

std::uint16_t some_port() {
  return static_cast<std::uint16_t>(test::free_port());
}

class observed : public part {
 public:
  const char* name() const override { return "observed"; }
  const char* help() const override {
    return "drain with a scrape every second and fifty slow HTTP clients, beside a drain without";
  }
  void be_quick() override {
    fill_.events = 5'000;
    rounds_ = 1;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--events", fill_.events, "of each drain")->check(CLI::PositiveNumber);
    at.add_option("--size", fill_.size, "bytes of payload")->check(CLI::NonNegativeNumber);
    at.add_option("--trickling", how_.trickling, "clients that send a request byte by byte")
        ->check(CLI::Range(0, 60));
    at.add_option("--sipping", how_.sipping, "clients that read answers byte by byte")
        ->check(CLI::Range(0, 60));
    at.add_option("--lanes", lanes_)->check(CLI::Range(1, 64));
    at.add_option("--rounds", rounds_)->check(CLI::Range(1, 100));
  }

  void run(const setup& on, report& out) override {
    out.note(fmt::format(
        "{} events of {} bytes, {} lanes, quorum queue; http.listen is on in both; in one of them a scrape "
        "of "
        "/metrics every second, {} clients that send a byte of a request every 0.1 s, and {} that ask for "
        "/metrics every second and read a byte every 0.1 s",
        fill_.events, fill_.size, lanes_, how_.trickling, how_.sipping));
    stage where(on);
    for (int round = 1; round <= rounds_; ++round) {
      // What runs second may find warmer caches, or a machine that has become busier.
      if (round % 2 == 1) {
        drain_alone(on, where);
        drain_watched(on, where);
      } else {
        drain_watched(on, where);
        drain_alone(on, where);
      }
      out.note(fmt::format("round {}: {:.0f} events/s, {:.0f} watched", round,
                           alone_.back().events_per_second, watched_.back().events_per_second));
    }
    tell(out, "without", alone_);
    tell(out, "watched", watched_);
    out.figure("a scrape meanwhile", scrape_ms_, "ms");
    out.section("ratio");
    out.figure("relay CPU: watched / without", ratios(&drained::cpu_us_per_event), "");
    out.key("observed_ratio",
            out.figure("drained: watched / without", ratios(&drained::events_per_second), "").median);
    out.draw({.title = "Drain: watched and without",
              .x_label = "round",
              .y_label = "events per second",
              .series = {series("without", alone_), series("watched", watched_)}});
  }

 private:
  drained drain_once(const setup& on, stage& where, std::uint16_t port) const {
    const auto before = where.fill(fill_);
    auto out =
        drain(on, where, before, fill_.events,
              {"--relay-lanes", std::to_string(lanes_), "--http-listen", fmt::format("127.0.0.1:{}", port)});
    where.clear(before);
    return out;
  }

  void drain_alone(const setup& on, stage& where) { alone_.push_back(drain_once(on, where, some_port())); }

  void drain_watched(const setup& on, stage& where) {
    const auto port = some_port();
    crowd watchers(port, how_);
    watched_.push_back(drain_once(on, where, port));
    const auto seen = watchers.leave();
    // Or nothing was measured.
    if (seen.scrape_ms.empty() || seen.most_connected < how_.trickling + how_.sipping)
      throw std::runtime_error(fmt::format("only {} scrapes and {} slow clients at a time",
                                           seen.scrape_ms.size(), seen.most_connected));
    scrape_ms_.insert(scrape_ms_.end(), seen.scrape_ms.begin(), seen.scrape_ms.end());
  }

  static std::vector<double> all(const std::vector<drained>& of, double drained::*what) {
    std::vector<double> out;
    for (const auto& one : of) out.push_back(one.*what);
    return out;
  }
  static void tell(report& out, const char* name, const std::vector<drained>& of) {
    out.section(name);
    out.figure("drained", all(of, &drained::events_per_second), "events/s");
    out.figure("relay CPU", all(of, &drained::cpu_us_per_event), "us/event");
    out.figure("relay memory, at most", all(of, &drained::peak_rss_mb), "MB");
  }
  static plot_series series(const char* name, const std::vector<drained>& of) {
    plot_series out{.name = name, .points = {}};
    for (const auto& one : of)
      out.points.push_back({static_cast<double>(out.points.size() + 1), one.events_per_second});
    return out;
  }
  std::vector<double> ratios(double drained::*what) const {
    std::vector<double> out;
    for (std::size_t i = 0; i < alone_.size(); ++i) out.push_back(watched_[i].*what / alone_[i].*what);
    return out;
  }

  filling fill_{.events = 200'000};
  crowd_options how_;
  int lanes_ = default_lanes;
  int rounds_ = 8;
  std::vector<drained> alone_;
  std::vector<drained> watched_;
  std::vector<double> scrape_ms_;
};

}  // namespace

std::unique_ptr<part> observed_part() {
  return std::make_unique<observed>();
}

}  // namespace outboxd::bench

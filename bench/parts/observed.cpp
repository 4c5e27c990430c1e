// observed: the cost of monitoring for a relay that is scraped every second and has many slow HTTP clients.
#include <fmt/format.h>

#include "parts/part.hpp"
#include "parts/turns.hpp"
#include "stage/crowd.hpp"
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
    turns both({"without", [&] { return drain_once(on, where, some_port()); }},
               {"watched", [&] { return drain_watched(on, where); }});
    both.run(out, rounds_);
    both.tell(out);
    out.figure("a scrape meanwhile", scrape_ms_, "ms");
    out.key("observed_ratio", both.compare(out));
  }

 private:
  drained drain_once(const setup& on, stage& where, std::uint16_t port) const {
    return fill_and_drain(
        on, where, fill_,
        {"--relay-lanes", std::to_string(lanes_), "--http-listen", fmt::format("127.0.0.1:{}", port)});
  }

  drained drain_watched(const setup& on, stage& where) {
    const auto port = some_port();
    crowd watchers(port, how_);
    const auto out = drain_once(on, where, port);
    const auto seen = watchers.leave();
    // Otherwise nothing was measured.
    if (seen.scrape_ms.empty() || seen.most_connected < how_.trickling + how_.sipping)
      throw std::runtime_error(fmt::format("only {} scrapes and {} slow clients at a time",
                                           seen.scrape_ms.size(), seen.most_connected));
    scrape_ms_.insert(scrape_ms_.end(), seen.scrape_ms.begin(), seen.scrape_ms.end());
    return out;
  }

  filling fill_{.events = 200'000};
  crowd_options how_;
  int lanes_ = default_lanes;
  int rounds_ = 8;
  std::vector<double> scrape_ms_;
};

}  // namespace

std::unique_ptr<part> observed_part() {
  return std::make_unique<observed>();
}

}  // namespace outboxd::bench

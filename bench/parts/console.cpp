// console: the cost of ten open console pages for PostgreSQL and for a drain, with millions of published
// events.
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "parts/part.hpp"
#include "parts/turns.hpp"
#include "stage/await.hpp"
#include "stage/open_console.hpp"
#include "stage/readers.hpp"
#include "support/free_port.hpp"

namespace outboxd::bench {
namespace {

// A console whose readers have all loaded a page.
class read_console {
 public:
  read_console(const setup& on, const stage& where, std::uint16_t relay_port, int readers_count)
      : console_(on, where, relay_port), readers_(console_.port(), readers_count) {
    await("every reader has a page", [&] { return readers_.all_see(); });
  }

  const open_console& console() const { return console_; }
  readers_tally leave() { return readers_.leave(); }

 private:
  open_console console_;
  readers readers_;
};

class consoles : public part {
 public:
  const char* name() const override { return "console"; }
  const char* help() const override {
    return "ten open pages of the console beside 5 M published events: their cost at rest, and the drain "
           "beside them";
  }
  void be_quick() override {
    published_ = 10'000;
    fill_.events = 5'000;
    rounds_ = 1;
    windows_ = 1;
    seconds_ = 2;
    settle_seconds_ = 0;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--published", published_, "finished events")->check(CLI::NonNegativeNumber);
    at.add_option("--readers", readers_)->check(CLI::Range(1, 100));
    at.add_option("--events", fill_.events, "of each drain")->check(CLI::PositiveNumber);
    at.add_option("--rounds", rounds_, "of drains")->check(CLI::Range(1, 100));
    at.add_option("--windows", windows_, "in which the CPU at rest is counted")->check(CLI::Range(1, 100));
    at.add_option("--seconds", seconds_, "of each window")->check(CLI::PositiveNumber);
    at.add_option("--settle-seconds", settle_seconds_, "before the first one")->check(CLI::NonNegativeNumber);
    at.add_option("--lanes", lanes_)->check(CLI::Range(1, 64));
  }

  void run(const setup& on, report& out) override {
    out.note(fmt::format(
        "{} published events; {} readers, of whom every other one looks at Now (every 2 s), the rest at "
        "Stuck "
        "(every 5 s, with what check says every 60 s); http.listen is on, and the console asks the relay; "
        "{} lanes, quorum queue",
        published_, readers_, lanes_));
    stage where(on);
    where.add_published(fill_, published_);
    where.fill({.events = 0});  // only vacuums, analyzes and waits for idle servers
    at_rest(on, where, out);
    drains(on, where, out);
  }

 private:
  std::vector<std::string> relay_flags(std::uint16_t port) const {
    return {"--relay-lanes", std::to_string(lanes_), "--http-listen", fmt::format("127.0.0.1:{}", port)};
  }
  static std::uint16_t some_port() { return static_cast<std::uint16_t>(test::free_port()); }

  void at_rest(const setup& on, stage& where, report& out) const {
    out.section(fmt::format("nothing to publish, {} windows of {} s", windows_, seconds_));
    const auto port = some_port();
    relay idle(on, where, relay_flags(port));
    idle.await_lead();
    read_console read(on, where, port, readers_);
    auto session = where.connect();
    sleep(settle_seconds_);
    std::vector<double> sessions;
    std::vector<double> own;
    for (int i = 0; i < windows_; ++i) {
      const auto began = std::chrono::steady_clock::now();
      const auto own_before = read.console().usage().cpu_seconds;
      const auto server_before = server_cpu(on, read.console(), session);
      sleep(seconds_);
      const auto own_after = read.console().usage().cpu_seconds;
      const auto server_after = server_cpu(on, read.console(), session);
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
      own.push_back(100 * (own_after - own_before) / seconds);
      sessions.push_back(100 * (server_after - server_before) / seconds);
    }
    const double memory = read.console().usage().peak_rss_mb;
    tell(out, read.leave());
    idle.stop();
    out.figure("CPU of the console", own, "% of a core");
    out.figure("memory of the console, at most", {memory}, "MB");
    if (!on.own_servers)
      out.note("CPU of sessions is counted on our own server only.");
    else
      out.key("console_cpu_percent",
              out.figure("CPU of its PostgreSQL sessions", sessions, "% of a core").median);
  }

  static double server_cpu(const setup& on, const open_console& of, test::database& session) {
    return on.own_servers ? of.server_cpu_seconds(session) : 0;
  }

  static void tell(report& out, const readers_tally& seen) {
    out.figure("an answer of Now", seen.now_ms, "ms");
    if (!seen.stuck_ms.empty()) out.figure("an answer of Stuck", seen.stuck_ms, "ms");
  }

  static void sleep(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      stop_if_interrupted();
      std::this_thread::sleep_for(std::chrono::seconds{1});
    }
  }

  void drains(const setup& on, stage& where, report& out) const {
    readers_tally seen;
    turns both({"alone", [&] { return fill_and_drain(on, where, fill_, relay_flags(some_port())); }},
               {"beside the readers", [&] { return drain_beside_readers(on, where, seen); }});
    both.run(out, rounds_);
    both.tell(out);
    tell(out, seen);
    out.key("console_ratio", both.compare(out));
  }

  drained drain_beside_readers(const setup& on, stage& where, readers_tally& into) const {
    const auto port = some_port();
    read_console read(on, where, port, readers_);
    const auto out = fill_and_drain(on, where, fill_, relay_flags(port));
    const auto seen = read.leave();
    into.now_ms.insert(into.now_ms.end(), seen.now_ms.begin(), seen.now_ms.end());
    into.stuck_ms.insert(into.stuck_ms.end(), seen.stuck_ms.begin(), seen.stuck_ms.end());
    return out;
  }

  filling fill_{.events = 200'000};
  std::int64_t published_ = 5'000'000;
  int readers_ = 10;
  int rounds_ = 8;
  int windows_ = 3;
  int seconds_ = 60;
  int settle_seconds_ = 30;
  int lanes_ = default_lanes;
};

}  // namespace

std::unique_ptr<part> console_part() {
  return std::make_unique<consoles>();
}

}  // namespace outboxd::bench

// many: many outboxes relayed by one process, beside a process for each, and beside one outbox.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "parts/part.hpp"
#include "report/figures.hpp"
#include "stage/await.hpp"
#include "stage/delivery_times.hpp"
#include "stage/drain.hpp"
#include "stage/relay.hpp"

namespace outboxd::bench {
namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

double seconds_since(clock::time_point begun) {
  return std::chrono::duration<double>(clock::now() - begun).count();
}

// A folder with a file for each outbox; it goes with the object.
class folder {
 public:
  explicit folder(const std::vector<std::unique_ptr<stage>>& all)
      : path_(std::filesystem::temp_directory_path() / fmt::format("outboxd-bench-many-{}", ::getpid())) {
    std::filesystem::create_directory(path_);
    for (std::size_t i = 0; i < all.size(); ++i)
      std::ofstream(path_ / fmt::format("outbox-{}.toml", i))
          << fmt::format("[database]\nurl = \"{}\"\n", all[i]->url());
  }
  ~folder() { std::filesystem::remove_all(path_); }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;

  std::vector<std::string> flags() const { return {"--outboxes", path_.string(), "--relay-lanes", "1"}; }

 private:
  std::filesystem::path path_;
};

// Processes that together relay all outboxes.
using crew = std::vector<std::unique_ptr<relay>>;

class many : public part {
 public:
  const char* name() const override { return "many"; }
  const char* help() const override {
    return "many outboxes relayed by one process, beside a process for each and beside one outbox";
  }
  void be_quick() override {
    outboxes_ = 3;
    events_ = 500;
    seconds_ = 2;
    settle_seconds_ = 1;
    rounds_ = 1;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--outboxes", outboxes_)->check(CLI::Range(2, 100));
    at.add_option("--events", events_, "of each outbox")->check(CLI::PositiveNumber);
    at.add_option("--seconds", seconds_, "watched while idle, and of each run of quiet events")
        ->check(CLI::PositiveNumber);
    at.add_option("--settle-seconds", settle_seconds_)->check(CLI::NonNegativeNumber);
    at.add_option("--rounds", rounds_)->check(CLI::Range(1, 100));
  }

  void run(const setup& on, report& out) override {
    out.note(fmt::format("{} outboxes, each a database with a classic queue, relay.lanes 1", outboxes_));
    for (int i = 0; i < outboxes_; ++i)
      stages_.push_back(std::make_unique<stage>(on, test::queue_type::classic));
    const folder files(stages_);
    drains(on, files, out);
    idles(on, files, out);
    quiet_ones(on, files, out);
    takeovers(on, files, out);
    stages_.clear();
  }

 private:
  crew one_process(const setup& on, const folder& files) const {
    crew out;
    out.push_back(std::make_unique<relay>(on, *stages_.front(), files.flags()));
    return out;
  }
  crew process_for_each(const setup& on) const {
    crew out;
    for (const auto& one : stages_)
      out.push_back(std::make_unique<relay>(on, *one, std::vector<std::string>{"--relay-lanes", "1"}));
    return out;
  }
  void await_leads(const crew& all) const {
    await(
        "each outbox is led",
        [&] {
          int leads = 0;
          for (const auto& one : all) leads += one->leads();
          return leads == outboxes_;
        },
        60s, 20ms);
  }
  static void stop(const crew& all) {
    for (const auto& one : all) one->stop();
  }

  // Events per second, from the start of the processes until all events are published.
  template <class Start>
  double drain_all(Start&& start) {
    const filling how{.events = events_, .aggregates = std::max<std::int64_t>(1, events_ / 5)};
    for (const auto& one : stages_) one->fill(how);
    const auto begun = clock::now();
    const crew all = start();
    for (const auto& one : stages_) {
      auto session = one->connect();
      await(
          "an outbox is drained",
          [&] { return session.value("SELECT count(*) FROM outbox.event WHERE status = 'pending'") == "0"; },
          20min, 20ms);
    }
    const double seconds = seconds_since(begun);
    stop(all);
    for (const auto& one : stages_) one->clear(0);
    return static_cast<double>(events_ * outboxes_) / seconds;
  }

  void drains(const setup& on, const folder& files, report& out) {
    out.section(fmt::format("drain of {} events in each outbox, from the start of the processes", events_));
    std::vector<double> together;
    std::vector<double> apart;
    std::vector<double> single;
    for (int i = 0; i < rounds_; ++i) {
      together.push_back(drain_all([&] { return one_process(on, files); }));
      apart.push_back(drain_all([&] { return process_for_each(on); }));
      stage alone(on, test::queue_type::classic);
      const std::int64_t events = events_ * outboxes_;
      single.push_back(
          fill_and_drain(on, alone, {.events = events, .aggregates = events / 5 + 1}, {"--relay-lanes", "1"})
              .from_start);
    }
    const auto one = out.figure("one process", together, "events/s").median;
    out.figure("a process for each", apart, "events/s");
    const auto alone = out.figure("one outbox with as many events", single, "events/s").median;
    out.key("many_drain_ratio", one / alone);
  }

  struct idle_usage {
    double cpu_us_per_s = 0;
    double memory_mb = 0;
  };
  idle_usage idle_of(const crew& all) const {
    await_leads(all);
    std::this_thread::sleep_for(std::chrono::seconds(settle_seconds_));
    const auto cpu = [&] {
      double sum = 0;
      for (const auto& one : all) sum += one->usage().cpu_seconds;
      return sum;
    };
    const double before = cpu();
    std::this_thread::sleep_for(std::chrono::seconds(seconds_));
    idle_usage out{.cpu_us_per_s = (cpu() - before) * 1e6 / seconds_, .memory_mb = 0};
    for (const auto& one : all) out.memory_mb += one->usage().peak_rss_mb;
    stop(all);
    return out;
  }

  void idles(const setup& on, const folder& files, report& out) {
    out.section(fmt::format("with nothing to do, watched for {} s", seconds_));
    const auto together = idle_of(one_process(on, files));
    const auto apart = idle_of(process_for_each(on));
    out.figure("CPU of one process", {together.cpu_us_per_s}, "us/s");
    out.figure("CPU of a process for each", {apart.cpu_us_per_s}, "us/s");
    out.figure("peak memory of one process", {together.memory_mb}, "MB");
    out.figure("peak memory of a process for each", {apart.memory_mb}, "MB");
    out.key("many_memory_ratio", together.memory_mb / apart.memory_mb);
  }

  double p99_of_quiet(const setup& on) {
    stage& quiet = *stages_.back();
    const auto times =
        time_deliveries(on, quiet, {.events_per_second = 200, .duration = std::chrono::seconds(seconds_)},
                        [&](std::int64_t n) { return numbered_insert(quiet, "outbox", n); });
    return percentile(times.ms, 0.99);
  }

  // One outbox drains a backlog meanwhile.
  void quiet_ones(const setup& on, const folder& files, report& out) {
    out.section(fmt::format("200 events per second for {} s in one of the outboxes", seconds_));
    const crew all = one_process(on, files);
    await_leads(all);
    const double alone = p99_of_quiet(on);
    stage& busy = *stages_.front();
    std::jthread backlog([&](const std::stop_token& end) {
      auto session = busy.connect();
      while (!end.stop_requested()) {
        busy.insert(session, {.events = 20'000, .aggregates = 4'000});
        await("the backlog shrinks", [&] {
          return end.stop_requested() ||
                 session.value("SELECT count(*) < 20000 FROM outbox.event WHERE status = 'pending'") == "t";
        });
      }
    });
    const double beside = p99_of_quiet(on);
    backlog.request_stop();
    backlog.join();
    stop(all);
    out.figure("p99, the others idle", {alone}, "ms");
    out.figure("p99, while another outbox drains", {beside}, "ms");
    out.key("many_p99_ratio", beside / alone);
  }

  void takeovers(const setup& on, const folder& files, report& out) {
    out.section("the leading process is killed (SIGKILL)");
    std::vector<double> ms;
    for (int i = 0; i < rounds_; ++i) {
      const crew leading = one_process(on, files);
      await_leads(leading);
      const crew standby = one_process(on, files);
      await(
          "the other one stands by", [&] { return standby.front()->ready(); }, 60s, 10ms);
      std::this_thread::sleep_for(std::chrono::seconds(settle_seconds_));
      const auto ended = clock::now();
      leading.front()->kill();
      await_leads(standby);
      ms.push_back(seconds_since(ended) * 1e3);
      stop(standby);
    }
    out.figure("until the other one leads all", ms, "ms");
    out.key("many_takeover_ms", *std::max_element(ms.begin(), ms.end()));
  }

  int outboxes_ = 50;
  std::int64_t events_ = 20'000;
  int seconds_ = 20;
  int settle_seconds_ = 3;
  int rounds_ = 3;
  std::vector<std::unique_ptr<stage>> stages_;
};

}  // namespace

std::unique_ptr<part> many_part() {
  return std::make_unique<many>();
}

}  // namespace outboxd::bench

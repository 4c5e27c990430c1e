// takeover: how long there is no leader after a leader is killed or stopped while another relay is a standby.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "parts/part.hpp"
#include "stage/arrivals.hpp"
#include "stage/await.hpp"
#include "stage/delivery_times.hpp"
#include "stage/relay.hpp"

namespace outboxd::bench {
namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// Commits numbered events, one after the other, until it is destroyed.
class steady_writer {
 public:
  steady_writer(const stage& where, std::chrono::microseconds every)
      : thread_([this, &where, every](const std::stop_token& stop) {
          auto session = where.connect();
          for (auto next = clock::now(); !stop.stop_requested(); next += every) {
            std::this_thread::sleep_until(next);
            session.exec(numbered_insert(where, "outbox", begun_++));
          }
        }) {}

  // Events up to here may have been committed.
  std::int64_t begun() const { return begun_; }

 private:
  std::atomic<std::int64_t> begun_ = 0;
  std::jthread thread_;
};

class takeover : public part {
 public:
  const char* name() const override { return "takeover"; }
  const char* help() const override {
    return "from the end of a leader until another relay leads and delivers";
  }
  void be_quick() override { ends_ = 2; }
  void add_options(CLI::App& at) override {
    at.add_option("--ends", ends_, "of leaders, of each kind")->check(CLI::Range(1, 1000));
    at.add_option("--rate", rate_, "events per second meanwhile")->check(CLI::Range(1, 5000));
  }

  void run(const setup& on, report& out) override {
    out.note(fmt::format("{} commits/s meanwhile, one relay stands by", rate_));
    stage where(on);
    arrivals came(on, where.queue());
    const steady_writer writer(where, std::chrono::microseconds(1'000'000 / rate_));
    auto leading = std::make_unique<relay>(on, where);
    leading->await_lead();
    times killed;
    times stopped;
    for (int i = 0; i < ends_; ++i) {
      leading = end_leader(
          on, where, std::move(leading), i, [](relay& one) { one.kill(); }, came, writer, killed);
      leading = end_leader(
          on, where, std::move(leading), i, [](relay& one) { one.ask_to_stop(); }, came, writer, stopped);
    }
    tell(out, "the leader is killed (SIGKILL)", killed);
    tell(out, "the leader is told to stop (SIGTERM)", stopped);
    out.section("bar");
    out.key("takeover_ms", *std::max_element(killed.delivers.begin(), killed.delivers.end()));
  }

 private:
  struct times {
    std::vector<double> leads, delivers;  // ms
  };

  // Returns the relay that leads afterwards.
  template <class End>
  std::unique_ptr<relay> end_leader(const setup& on, const stage& where, std::unique_ptr<relay> leading,
                                    int turn, const End& end, arrivals& came, const steady_writer& writer,
                                    times& into) const {
    auto standby = std::make_unique<relay>(on, where);
    await(
        "the other one stands by", [&] { return standby->ready(); }, 30s, 10ms);
    // A standby tries every 100 ms; the delay prevents the leader from always ending at the same moment
    // between two attempts.
    std::this_thread::sleep_for(500ms + 37ms * (turn % 11));
    came.take();
    const auto first_new = writer.begun() + 1;
    const auto ended = clock::now();
    end(*leading);
    standby->await_lead();
    into.leads.push_back(std::chrono::duration<double, std::milli>(clock::now() - ended).count());
    std::optional<clock::time_point> delivered;
    await(
        "an event that was committed since then is delivered",
        [&] {
          for (const auto& one : came.take())
            if (one.number >= first_new && (!delivered || one.at < *delivered)) delivered = one.at;
          return delivered.has_value();
        },
        30s, 5ms);
    into.delivers.push_back(std::chrono::duration<double, std::milli>(*delivered - ended).count());
    return standby;
  }

  static void tell(report& out, const std::string& title, const times& of) {
    out.section(title);
    out.figure("until the other one leads", of.leads, "ms");
    out.figure("until it delivers what was committed since", of.delivers, "ms");
  }

  int ends_ = 20;
  int rate_ = 500;
};

}  // namespace

std::unique_ptr<part> takeover_part() {
  return std::make_unique<takeover>();
}

}  // namespace outboxd::bench

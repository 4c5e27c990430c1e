// relays: several relays on one table: the rate of all together, and the order of what they deliver.
#include <fmt/format.h>

#include <memory>
#include <unordered_map>

#include "parts/part.hpp"
#include "stage/arrivals.hpp"
#include "stage/await.hpp"
#include "stage/drain.hpp"

namespace outboxd::bench {
namespace {

// Events go by rising n into the table, so each aggregate's have to come by rising n, each once.
void require_order(const std::vector<arrival>& all, std::int64_t events) {
  std::unordered_map<std::int64_t, std::int64_t> last;
  for (const auto& one : all) {
    auto& before = last[one.aggregate];
    if (one.number <= before)
      throw std::runtime_error(
          fmt::format("event {} of aggregate {} came after event {}", one.number, one.aggregate, before));
    before = one.number;
  }
  if (static_cast<std::int64_t>(all.size()) != events)
    throw std::runtime_error(fmt::format("{} of {} events came", all.size(), events));
}

class several_relays : public part {
 public:
  const char* name() const override { return "relays"; }
  const char* help() const override { return "1, 2 and 4 relays on one table; order checked"; }
  void be_quick() override {
    fill_.events = 5'000;
    rounds_ = 1;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--relays", relays_)->delimiter(',')->check(CLI::Range(1, 16));
    at.add_option("--events", fill_.events)->check(CLI::PositiveNumber);
    at.add_option("--size", fill_.size, "bytes of payload")->check(CLI::NonNegativeNumber);
    at.add_option("--lanes", lanes_, "of each relay")->check(CLI::Range(1, 64));
    at.add_option("--rounds", rounds_)->check(CLI::Range(1, 100));
  }

  void run(const setup& on, report& out) override {
    out.note(fmt::format(
        "{} events of {} bytes in {} aggregates, {} lanes a relay, quorum queue; the order of each "
        "aggregate is checked in what a consumer then reads",
        fill_.events, fill_.size, fill_.aggregates, lanes_));
    plot lines{.title = "Relays on one table",
               .x_label = "relays",
               .y_label = "events per second, all together",
               .series = {{"drained", {}}}};
    for (const int count : relays_) {
      std::vector<double> rates;
      for (int round = 0; round < rounds_; ++round) rates.push_back(drain_with(on, count));
      const auto rate = out.figure(fmt::format("{} relays together, in order", count), rates, "events/s");
      lines.series[0].points.push_back({static_cast<double>(count), rate.median});
    }
    out.draw(lines);
  }

 private:
  double drain_with(const setup& on, int count) const {
    stage where(on);
    const auto before = where.fill(fill_);
    std::vector<std::unique_ptr<relay>> all;
    for (int i = 0; i < count; ++i)
      all.push_back(std::make_unique<relay>(
          on, where, std::vector<std::string>{"--relay-lanes", std::to_string(lanes_)}));
    auto session = where.connect();
    session.exec("SET enable_seqscan = off");
    await("every event is in the queue", [&] {
      for (const auto& one : all)
        if (!one->running()) throw std::runtime_error("outboxd run has ended: " + one->tail());
      return where.messages() >= fill_.events;
    });
    await("every event is marked",
          [&] { return session.number("SELECT count(*) FROM outbox.event WHERE status = 'pending'") == 0; });
    for (const auto& one : all) one->stop();
    const double rate = marked_per_second(session, before);

    arrivals came(on, where.queue());
    await("a consumer has every event",
          [&] { return static_cast<std::int64_t>(came.count()) >= fill_.events; });
    require_order(came.take(), fill_.events);
    return rate;
  }

  std::vector<int> relays_{1, 2, 4};
  filling fill_{.events = 200'000};
  int lanes_ = 4;
  int rounds_ = 3;
};

}  // namespace

std::unique_ptr<part> relays_part() {
  return std::make_unique<several_relays>();
}

}  // namespace outboxd::bench

// relays: a leader with standbys, and shards divided among relays: their total rate, and the order of the
// delivered events.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "parts/part.hpp"
#include "stage/arrivals.hpp"
#include "stage/await.hpp"
#include "stage/drain.hpp"

namespace outboxd::bench {
namespace {

// Events are inserted in ascending order of n, so each aggregate's events must arrive in ascending order of
// n, each once.
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
  const char* help() const override {
    return "one relay, one with standbys, and several that share out shards; order checked";
  }
  void be_quick() override {
    fill_.events = 5'000;
    rounds_ = 1;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--relays", relays_,
                  "beside one by itself, and shards for them: 4 for the promised figures")
        ->check(CLI::IsMember({2, 4, 8, 16}));
    at.add_option("--events", fill_.events)->check(CLI::PositiveNumber);
    at.add_option("--size", fill_.size, "bytes of payload")->check(CLI::NonNegativeNumber);
    at.add_option("--lanes", lanes_, "of each relay")->check(CLI::Range(1, 64));
    at.add_option("--rounds", rounds_)->check(CLI::Range(1, 100));
  }

  void run(const setup& on, report& out) override {
    out.note(
        fmt::format("{} events of {} bytes in {} aggregates, {} lanes a relay, quorum queue; inserted in one "
                    "transaction when the relays have "
                    "come to rest; the order of each aggregate is checked in what a consumer then reads",
                    fill_.events, fill_.size, fill_.aggregates, lanes_));
    std::vector<cast> all{{"one relay", 1, 1, {}},
                          {fmt::format("one leader and {} standbys", relays_ - 1), relays_, 1, {}},
                          {fmt::format("{} shards under {} relays", relays_, relays_), relays_, relays_, {}}};
    std::vector<std::size_t> turns{0, 1, 2};
    for (int round = 1; round <= rounds_; ++round) {
      for (const std::size_t which : turns) all[which].rates.push_back(drain_with(on, all[which]));
      std::rotate(turns.begin(), turns.begin() + 1, turns.end());
      out.note(fmt::format("round {}: {:.0f}, {:.0f}, {:.0f} events/s", round, all[0].rates.back(),
                           all[1].rates.back(), all[2].rates.back()));
    }
    plot lines{.title = "Relays on one table",
               .x_label = "round",
               .y_label = "events per second, all together",
               .series = {}};
    for (const auto& one : all) {
      out.figure(one.name, one.rates, "events/s");
      plot_series series{.name = one.name, .points = {}};
      for (const double rate : one.rates)
        series.points.push_back({static_cast<double>(series.points.size() + 1), rate});
      lines.series.push_back(std::move(series));
    }
    out.draw(lines);
    out.section("ratios");
    const auto ratio = [&](const cast& of) {
      std::vector<double> out_of;
      for (std::size_t i = 0; i < of.rates.size(); ++i) out_of.push_back(of.rates[i] / all[0].rates[i]);
      return out.figure(of.name + " / one relay", out_of, "").median;
    };
    const double standbys = ratio(all[1]);
    const double shards = ratio(all[2]);
    if (relays_ != 4) return;
    out.key("relays_ratio", standbys);
    out.key("shards_ratio", shards);
  }

 private:
  struct cast {
    std::string name;
    int relays;
    int shards;
    std::vector<double> rates;
  };

  double drain_with(const setup& on, const cast& who) const {
    stage where(on, test::queue_type::quorum, /*autovacuum=*/false, who.shards);
    std::vector<std::unique_ptr<relay>> all;
    for (int i = 0; i < who.relays; ++i)
      all.push_back(std::make_unique<relay>(
          on, where, std::vector<std::string>{"--relay-lanes", std::to_string(lanes_)}));
    await("the relays have shared out the shards", [&] {
      for (const auto& one : all)
        if (!one->running()) throw std::runtime_error("outboxd run has ended: " + one->tail());
      return at_rest(all, who.shards);
    });
    auto session = where.connect();
    where.come_to_rest(session);
    where.insert(session, fill_);
    session.exec("SET enable_seqscan = off");
    await("every event is in the queue", [&] {
      for (const auto& one : all)
        if (!one->running()) throw std::runtime_error("outboxd run has ended: " + one->tail());
      return where.messages() >= fill_.events;
    });
    await("every event is marked",
          [&] { return session.number("SELECT count(*) FROM outbox.event WHERE status = 'pending'") == 0; });
    for (const auto& one : all) one->stop();
    const double rate = marked_per_second(session, 0);

    arrivals came(on, where.queue());
    await("a consumer has every event",
          [&] { return static_cast<std::int64_t>(came.count()) >= fill_.events; });
    require_order(came.take(), fill_.events);
    return rate;
  }

  static bool at_rest(const std::vector<std::unique_ptr<relay>>& all, int shards) {
    const int share = (shards + static_cast<int>(all.size()) - 1) / static_cast<int>(all.size());
    int led = 0;
    for (const auto& one : all) {
      if (!one->ready() || one->leads() > share) return false;
      led += one->leads();
    }
    return led == shards;
  }

  int relays_ = 4;
  filling fill_{.events = 200'000};
  int lanes_ = default_lanes;
  int rounds_ = 5;
};

}  // namespace

std::unique_ptr<part> relays_part() {
  return std::make_unique<several_relays>();
}

}  // namespace outboxd::bench

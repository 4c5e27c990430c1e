// otlp: what it costs a relay to send spans of a tenth of its events.
#include <fmt/format.h>

#include "parts/part.hpp"
#include "parts/turns.hpp"
#include "stage/instructions.hpp"
#include "support/fake_collector.hpp"

namespace outboxd::bench {
namespace {

class otlp : public part {
 public:
  const char* name() const override { return "otlp"; }
  const char* help() const override {
    return "drain with spans of the sampled tenth of the events, beside one without";
  }
  void be_quick() override {
    fill_.events = 5'000;
    counted_events_ = 600;
    rounds_ = 1;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--events", fill_.events, "of each drain")->check(CLI::PositiveNumber);
    at.add_option("--size", fill_.size, "bytes of payload")->check(CLI::NonNegativeNumber);
    at.add_option("--sampled-every", fill_.sampled_every, "one in so many")->check(CLI::PositiveNumber);
    at.add_option("--lanes", lanes_)->check(CLI::Range(1, 64));
    at.add_option("--rounds", rounds_)->check(CLI::Range(1, 100));
    at.add_flag("--count-only", count_only_, "only the instructions");
  }

  void run(const setup& on, report& out) override {
    out.note(
        fmt::format("{} events of {} bytes, {} lanes, quorum queue; each event has a traceparent, and one in "
                    "{} is sampled",
                    fill_.events, fill_.size, lanes_, fill_.sampled_every));
    if (!count_only_) drain_in_turns(on, out);
    out.section("small drains under valgrind");
    auto small = fill_;
    small.events = counted_events_;
    test::fake_collector collector;
    const auto off = instructions_per_event(on, small);
    const auto with = instructions_per_event(on, small, flags_for(collector));
    if (!off || !with) return out.note("valgrind is not installed");
    out.figure("instructions per event, off", {*off}, "");
    out.figure("instructions per event, with spans", {*with}, "");
    out.figure("with spans / off", {*with / *off}, "");
    out.key("otlp_instructions_ratio", *with / *off);
  }

 private:
  std::vector<std::string> flags_for(const test::fake_collector& collector) const {
    return {"--otlp-endpoint", collector.url()};
  }

  void drain_in_turns(const setup& on, report& out) {
    stage where(on);
    const std::vector<std::string> lanes{"--relay-lanes", std::to_string(lanes_)};
    turns both({"off", [&] { return fill_and_drain(on, where, fill_, lanes); }},
               {"with spans", [&] {
                  const test::fake_collector collector;
                  auto flags = flags_for(collector);
                  flags.insert(flags.end(), lanes.begin(), lanes.end());
                  const auto drained = fill_and_drain(on, where, fill_, flags);
                  // Or nothing was measured.
                  const auto got = static_cast<std::int64_t>(collector.spans().size());
                  if (got != fill_.events / fill_.sampled_every)
                    throw std::runtime_error(fmt::format("the collector got {} spans", got));
                  return drained;
                }});
    both.run(out, rounds_);
    both.tell(out);
    out.key("otlp_ratio", both.compare(out));
  }

  filling fill_{.events = 200'000, .sampled_every = 10};
  std::int64_t counted_events_ = 6'000;
  int lanes_ = default_lanes;
  int rounds_ = 8;
  bool count_only_ = false;
};

}  // namespace

std::unique_ptr<part> otlp_part() {
  return std::make_unique<otlp>();
}

}  // namespace outboxd::bench

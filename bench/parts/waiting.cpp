// waiting: the cost of events that cannot be sent yet for those that can.
#include <fmt/format.h>

#include "parts/beside.hpp"
#include "parts/part.hpp"
#include "stage/await.hpp"

namespace outboxd::bench {
namespace {

using namespace std::chrono_literals;

class waiting : public part {
 public:
  const char* name() const override { return "waiting"; }
  const char* help() const override {
    return "drain beside events scheduled for tomorrow and a long queue behind one stuck aggregate";
  }
  void be_quick() override {
    how_.fill.events = 5'000;
    how_.rounds = 1;
    scheduled_ = 20'000;
    stuck_ = 2'000;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--events", how_.fill.events, "to drain in each round")->check(CLI::PositiveNumber);
    at.add_option("--size", how_.fill.size, "bytes of payload")->check(CLI::NonNegativeNumber);
    at.add_option("--scheduled", scheduled_, "events for tomorrow")->check(CLI::NonNegativeNumber);
    at.add_option("--stuck", stuck_, "events behind one aggregate")->check(CLI::NonNegativeNumber);
    at.add_option("--lanes", lanes_)->check(CLI::Range(1, 64));
    at.add_option("--rounds", how_.rounds)->check(CLI::Range(1, 100));
  }

  void run(const setup& on, report& out) override {
    how_.relay_flags = {"--relay-lanes", std::to_string(lanes_)};
    stage bare(on);
    stage crowded(on);
    schedule(crowded);
    stick(on, crowded);
    out.note(
        fmt::format("{} events of {} bytes, {} lanes, quorum queue; beside them {} events scheduled for "
                    "tomorrow and {} behind one stuck aggregate",
                    how_.fill.events, how_.fill.size, lanes_, scheduled_, stuck_));
    out.key("waiting_ratio", drain_beside(on, out, bare, "without", crowded, "with waiting events", how_));
  }

 private:
  void schedule(stage& on) const {
    on.connect().exec(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, exchange, payload, available_at)"
        " SELECT 'scheduled', n::text, $1, $2, jsonb_build_object('n', n, 'text', repeat('x', $3::int)),"
        " now() + interval '1 day' FROM generate_series(1, $4::bigint) AS n",
        {on.event_type(), on.exchange(), std::to_string(how_.fill.size), std::to_string(scheduled_)});
  }

  // The first event has no queue and backs off, and a relay parks the others; then the first event is
  // postponed until tomorrow.
  void stick(const setup& on, stage& where) const {
    auto session = where.connect();
    const std::string insert =
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, exchange, payload)"
        " SELECT 'stuck', 'one', $1, $2, jsonb_build_object('n', n, 'text', repeat('x', $3::int))"
        " FROM generate_series(1, $4::bigint) AS n";
    const auto size = std::to_string(how_.fill.size);
    session.exec("SET enable_seqscan = off");
    relay parking(on, where, {"--retry-schedule", "1h"});
    const auto count = [&](const char* what) {
      return session.number(fmt::format("SELECT count(*) FROM outbox.event WHERE exception = '{}'", what));
    };
    session.exec(insert, {"nowhere", where.exchange(), size, "1"});
    await("the head backs off", [&] { return count("backing_off") == 1; });
    session.exec(
        "UPDATE outbox.event SET available_at = now() + interval '1 day' WHERE exception = 'backing_off'");
    session.exec(insert, {where.event_type(), where.exchange(), size, std::to_string(stuck_)});
    await("all wait behind the first", [&] { return count("parked") == stuck_; });
    parking.stop();
    if (count("backing_off") != 1 || where.messages() != 0)
      throw std::runtime_error("the head of the stuck aggregate has not stayed where it was");
    session.exec("VACUUM ANALYZE outbox.event");
  }

  beside_options how_{.fill = {.events = 200'000}, .rounds = 5, .relay_flags = {}};
  std::int64_t scheduled_ = 1'000'000;
  std::int64_t stuck_ = 100'000;
  int lanes_ = default_lanes;
};

}  // namespace

std::unique_ptr<part> waiting_part() {
  return std::make_unique<waiting>();
}

}  // namespace outboxd::bench

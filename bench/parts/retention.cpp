// retention: the cost for a drain of deleting old published events at the same time.
#include <fmt/format.h>

#include <algorithm>

#include "parts/part.hpp"
#include "parts/turns.hpp"

namespace outboxd::bench {
namespace {

class retention : public part {
 public:
  const char* name() const override { return "retention"; }
  const char* help() const override {
    return "drain while a million old published events are being deleted, beside a drain that leaves them";
  }
  void be_quick() override {
    fill_.events = 5'000;
    old_ = 5'000;
    rounds_ = 1;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--old", old_, "published events that are old; 1000000 for the promised ratio")
        ->check(CLI::PositiveNumber);
    at.add_option("--events", fill_.events, "of each drain")->check(CLI::PositiveNumber);
    at.add_option("--size", fill_.size, "bytes of payload")->check(CLI::NonNegativeNumber);
    at.add_option("--lanes", lanes_)->check(CLI::Range(1, 64));
    at.add_option("--rounds", rounds_)->check(CLI::Range(1, 100));
  }

  void run(const setup& on, report& out) override {
    out.note(fmt::format(
        "{} events of {} bytes, {} lanes, quorum queue; before each drain the table has {} events "
        "that were published 8 days ago; retention.published is 7d or never",
        fill_.events, fill_.size, lanes_, old_));
    stage where(on);
    turns both({"never", [&] { return drain_once(on, where, "never"); }},
               {"7d", [&] { return drain_once(on, where, "7d"); }});
    both.run(out, rounds_);
    both.tell(out);
    out.figure("deleted meanwhile", deleted_, "events");
    out.key("retention_ratio", both.compare(out));
  }

 private:
  std::int64_t old_events(test::database& session) const {
    return session.number("SELECT count(*) FROM outbox.event WHERE published_at < now() - interval '7 d'");
  }

  // In portions, like events that are published: a single transaction of a million rows behaves differently.
  void bring_old_ones(const stage& where, test::database& session) const {
    for (auto left = old_ - old_events(session); left > 0; left -= portion_)
      session.exec(
          "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, exchange, payload, status, "
          "created_at, published_at)"
          " SELECT 'order', (n * 7919 % $1::bigint)::text, $2, $3,"
          " jsonb_build_object('n', n, 'text', repeat('x', $4::int)), 'published', now() - interval '8 d',"
          " now() - interval '8 d' FROM generate_series(1, $5::bigint) AS n",
          {std::to_string(fill_.aggregates), where.event_type(), where.exchange(), std::to_string(fill_.size),
           std::to_string(std::min(left, portion_))});
  }

  drained drain_once(const setup& on, stage& where, const std::string& keep_for) {
    auto session = where.connect();
    bring_old_ones(where, session);
    const auto out = fill_and_drain(
        on, where, fill_, {"--relay-lanes", std::to_string(lanes_), "--retention-published", keep_for});
    const auto left = old_events(session);
    const bool deletes = keep_for != "never";
    if (deletes) deleted_.push_back(static_cast<double>(old_ - left));
    // Otherwise something else was measured.
    if (deletes == (left == old_))
      throw std::runtime_error(
          fmt::format("{} of {} old events are left with retention.published = {}", left, old_, keep_for));
    return out;
  }

  static constexpr std::int64_t portion_ = 250'000;
  filling fill_{.events = 400'000};
  std::int64_t old_ = 1'000'000;
  int lanes_ = default_lanes;
  int rounds_ = 4;
  std::vector<double> deleted_;
};

}  // namespace

std::unique_ptr<part> retention_part() {
  return std::make_unique<retention>();
}

}  // namespace outboxd::bench

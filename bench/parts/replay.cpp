// replay: the latency of new events while other events return, from a replay or because they are due
// together.
#include <fmt/format.h>

#include <future>
#include <map>
#include <optional>
#include <thread>

#include "parts/part.hpp"
#include "stage/await.hpp"
#include "stage/delivery_times.hpp"
#include "stage/drain.hpp"
#include "stage/relay.hpp"
#include "support/process.hpp"

namespace outboxd::bench {
namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// How long live events are written before the others start.
constexpr auto warm_up = 2s;

// The neighbour case: events come due together, and another session changes as many rows of its own table, in
// portions like a replay. It shows how PostgreSQL's work alone affects live events.
enum class beside { nothing, replay, due, neighbour };

const char* words(beside what) {
  switch (what) {
    case beside::nothing:
      return "alone";
    case beside::replay:
      return "beside a replay";
    case beside::due:
      return "beside events that came due together";
    case beside::neighbour:
      return "beside events that came due together, and a neighbour's UPDATEs";
  }
  return "";
}

// The queue for returning events, which the consumer of live events does not see.
class side_queue {
 public:
  explicit side_queue(const setup& on, std::string name) : name_(std::move(name)), broker_(on.amqp_url) {
    broker_.declare_queue(name_, test::queue_type::quorum);
  }
  ~side_queue() {
    try {
      broker_.delete_queue(name_);
    } catch (const std::exception& failed) {
      fmt::print(stderr, "queue {} is left behind: {}\n", name_, failed.what());
    }
  }
  side_queue(const side_queue&) = delete;
  side_queue& operator=(const side_queue&) = delete;
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  test::broker broker_;
};

class replay : public part {
 public:
  const char* name() const override { return "replay"; }
  const char* help() const override {
    return "live events beside a replay, and beside a crowd that comes due; drains of such a crowd";
  }
  void be_quick() override {
    pace_.duration = 1s;
    returning_ = 3'000;
    fill_.events = 3'000;
    rounds_ = 1;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--rate", pace_.events_per_second, "live events per second; 200 for the promised ratio");
    at.add_option_function<int>(
        "--seconds", [this](int given) { pace_.duration = std::chrono::seconds(given); },
        "of live events in each run");
    at.add_option("--returning", returning_, "events beside them; enough for these seconds")
        ->check(CLI::PositiveNumber);
    at.add_option("--events", fill_.events, "to drain in each round")->check(CLI::PositiveNumber);
    at.add_option("--rounds", rounds_)->check(CLI::Range(1, 100));
  }

  void run(const setup& on, report& out) override {
    out.note(
        fmt::format("live events, {}/s for {} s, alone, while {} others are replayed, and while as many are "
                    "due at once, to another queue, also beside a neighbour's UPDATEs; {} to drain; {} "
                    "lanes, quorum queues",
                    pace_.events_per_second, pace_.duration / 1s, returning_, fill_.events, default_lanes));
    for (int round = 1; round <= rounds_; ++round) {
      drain_round(on);
      for (const auto what : {beside::nothing, beside::replay, beside::due, beside::neighbour})
        live_round(on, what);
      out.note(fmt::format("round {} of {} is through", round, rounds_));
    }
    for (auto& [what, times] : live_) {
      out.section(fmt::format("live events, {}", words(what)));
      out.figure("p50", times.p50, "ms");
      out.figure("p99", times.p99, "ms");
      out.figure("max", times.most, "ms");
      if (what != beside::nothing) out.figure("the others were marked", times.others, "events/s");
    }
    out.section("drains");
    out.figure("of pending events", pending_, "events/s");
    out.figure("of events that return", due_, "events/s");
    out.section("ratios");
    const auto p99 = [this](beside what) { return spread_of(live_[what].p99).median; };
    out.key("beside_replay_p99_ratio", p99(beside::replay) / p99(beside::nothing));
    out.key("beside_due_p99_ratio", p99(beside::due) / p99(beside::nothing));
    out.figure("p99 of live events: beside a neighbour / alone",
               {p99(beside::neighbour) / p99(beside::nothing)}, "");
    out.key("replay_ratio", spread_of(due_).median / spread_of(pending_).median);
  }

 private:
  void drain_round(const setup& on) {
    {
      stage where(on);
      where.fill(fill_);
      pending_.push_back(drain(on, where, 0, fill_.events, {}).events_per_second);
    }
    stage where(on);
    auto session = where.connect();
    where.insert(session, fill_);
    session.exec("UPDATE outbox.event SET status = 'published'");
    session.exec("UPDATE outbox.event SET status = 'pending'");  // waiting and due, like replayed events
    session.exec("VACUUM ANALYZE outbox.event");
    where.come_to_rest(session);
    due_.push_back(drain(on, where, 0, fill_.events, {}).events_per_second);
  }

  void live_round(const setup& on, beside what) {
    stage where(on, test::queue_type::quorum, /*autovacuum=*/true);
    const side_queue aside(on, where.queue() + ".aside");
    auto session = where.connect();
    if (what != beside::nothing) insert_others(session, where, aside, what);
    relay running(on, where);
    running.await_lead();
    // A relay sets scheduled events aside when it reads them.
    await("no other event is pending", [&] { return others(session, "= 'pending'") == 0; });
    const auto begin = what == beside::due || what == beside::neighbour ? schedule_others(session, where)
                                                                        : clock::now() + warm_up;
    std::optional<test::process> command;
    auto begun = std::async(std::launch::async, [&] {
      std::this_thread::sleep_until(begin);
      if (what == beside::replay) command.emplace(replay_of_all(on, where));
      if (what == beside::neighbour) change_in_portions(where);
    });
    std::this_thread::sleep_until(begin - warm_up);
    auto pace = pace_;
    pace.duration += warm_up;
    pace.measured_from = begin;
    const auto times =
        time_deliveries(on, where, pace, [&](std::int64_t n) { return numbered_insert(where, "outbox", n); });
    const auto left = others(session, "<> 'published'");
    begun.get();
    if (command && command->wait(20min) != test::exit_status{.code = 0, .signal = {}})
      throw std::runtime_error("outboxd replay failed: " + command->tail());
    await("all others are published", [&] { return others(session, "<> 'published'") == 0; });
    auto& into = live_[what];
    into.p50.push_back(percentile(times.ms, 0.50));
    into.p99.push_back(percentile(times.ms, 0.99));
    into.most.push_back(percentile(times.ms, 1));
    if (what != beside::nothing) into.others.push_back(others_per_second(session));
    if (what != beside::nothing && left == 0)
      fmt::print(stderr, "the events {} were out before the last live one: --returning is too low\n",
                 words(what));
    running.stop();
  }

  // All others come due at that time, without a write at that moment.
  clock::time_point schedule_others(test::database& session, const stage& where) const {
    const auto wait = std::chrono::seconds(5 + returning_ / 15'000);
    const auto due = clock::now() + wait;
    session.exec(
        "UPDATE outbox.event SET available_at = (SELECT clock_timestamp() + make_interval(secs => $1))"
        " WHERE event_type = 'other'",
        {std::to_string(wait / 1s)});
    session.exec("VACUUM ANALYZE outbox.event");
    where.come_to_rest(session);
    if (clock::now() > due - warm_up)
      throw std::runtime_error(
          fmt::format("{} events could not be scheduled within {} s: give fewer to "
                      "--returning",
                      returning_, wait / 1s));
    return due;
  }

  // Inserts published or scheduled events for the separate queue.
  void insert_others(test::database& session, const stage& where, const side_queue& aside,
                     beside what) const {
    session.exec(
        fmt::format("INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, exchange, "
                    "routing_key, payload, {}) SELECT 'other', (n * 7919 % 20000)::text, 'other', $1, $2,"
                    " jsonb_build_object('text', repeat('x', $3::int)), {}"
                    " FROM generate_series(1, $4::bigint) AS n",
                    what == beside::replay ? "status, published_at" : "available_at",
                    what == beside::replay ? "'published', now()" : "now() + interval '1 day'"),
        {"", aside.name(), std::to_string(fill_.size), std::to_string(returning_)});
    if (what == beside::neighbour) {
      session.exec("CREATE TABLE neighbour AS SELECT * FROM outbox.event WHERE event_type = 'other'");
      session.exec("ALTER TABLE neighbour ADD PRIMARY KEY (seq)");
    }
    session.exec("VACUUM ANALYZE");
    where.come_to_rest(session);
  }

  static void change_in_portions(const stage& where) {
    where.connect().exec(
        "DO $$ DECLARE place bigint := (SELECT min(seq) FROM neighbour);"
        " BEGIN WHILE place <= (SELECT max(seq) FROM neighbour) LOOP"
        " UPDATE neighbour SET status = 'pending', published_at = NULL"
        " WHERE seq = ANY (ARRAY(SELECT generate_series(place, place + 999)));"
        " COMMIT; place := place + 1000; END LOOP; END $$");
  }

  static test::process_options replay_of_all(const setup& on, const stage& where) {
    return {.program = on.program("outboxd"),
            .arguments = {"replay", "--event-type", "other", "--yes"},
            .environment = {{"OUTBOXD_DATABASE_URL", where.url()}},
            .log_file = {}};
  }

  static std::int64_t others(test::database& session, const char* status) {
    return session.number(
        fmt::format("SELECT count(*) FROM outbox.event WHERE event_type = 'other' AND status {}", status));
  }
  static double others_per_second(test::database& session) {
    return std::stod(session.value(
        "SELECT count(*) / greatest(extract(epoch FROM max(published_at) - min(published_at)), 0.001)"
        " FROM outbox.event WHERE event_type = 'other'"));
  }

  struct figures {
    std::vector<double> p50, p99, most, others;
  };
  pace pace_{.events_per_second = 200, .duration = 10s, .writers = 8};
  std::int64_t returning_ = 300'000;
  filling fill_{.events = 100'000};
  int rounds_ = 3;
  std::map<beside, figures> live_;
  std::vector<double> pending_, due_;
};

}  // namespace

std::unique_ptr<part> replay_part() {
  return std::make_unique<replay>();
}

}  // namespace outboxd::bench

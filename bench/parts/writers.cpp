// writers: the cost of the relay and its doorbell for the application's commits.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "parts/part.hpp"
#include "stage/await.hpp"
#include "stage/bare_publisher.hpp"
#include "stage/order_load.hpp"
#include "stage/relay.hpp"
#include "stage/slow_flush.hpp"

namespace outboxd::bench {
namespace {

using namespace std::chrono_literals;

enum class variant { none, row_notify, statement_notify, unattended, outboxd, messages };

const char* name_of(variant which) {
  switch (which) {
    case variant::none:
      return "bare table, no relay";
    case variant::row_notify:
      return "NOTIFY row trigger";
    case variant::statement_notify:
      return "NOTIFY statement trigger";
    case variant::unattended:
      return "outboxd's table, no relay";
    case variant::outboxd:
      return "outboxd delivers";
    case variant::messages:
      return "outboxd's table, its messages alone";
  }
  return "";
}

struct writer_rounds {
  std::vector<double> commits_per_second, p50, p99, catch_up;
};

// Keyed by variant and number of clients.
using measured = std::map<std::pair<variant, int>, writer_rounds>;

class writers : public part {
 public:
  const char* name() const override { return "writers"; }
  const char* help() const override {
    return "commits of orders with events: a bare table, NOTIFY triggers, outboxd; with fast and slow "
           "flushes";
  }
  void be_quick() override {
    clients_ = {1, 32};
    milliseconds_ = 500;
    rounds_ = 1;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--clients", clients_, "32 for the promised figures")->delimiter(',');
    at.add_option("--milliseconds", milliseconds_, "of each run")->check(CLI::PositiveNumber);
    at.add_option("--rounds", rounds_)->check(CLI::Range(1, 100));
    at.add_option("--flush-us", flush_us_, "how long a slow flush takes")->check(CLI::PositiveNumber);
    at.add_option("--lanes", lanes_)->check(CLI::Range(1, 64));
  }

  void run(const setup& on, report& out) override {
    out.note(fmt::format(
        "Each transaction: BEGIN, an order, its event, COMMIT, in one round trip. {} ms a run, "
        "{} lanes, quorum queue "
        "without a consumer; everything on this machine. Nobody listens to the plain triggers. Its "
        "messages alone: a bare publisher sends as many as outboxd did, and nobody reads the table.",
        milliseconds_, lanes_));
    out.note(fmt::format("Disk as it is: a commit takes {:.2f} ms", commit_milliseconds(on)));
    tell(out, measure(on, out), "disk as it is", "as-is");
    leave_unattended(on, out);
    if (!on.own_servers) {
      out.note("No slow flushes: a server that is not our own is not restarted.");
      return;
    }
    const slow_flush slowed(on, std::chrono::microseconds(flush_us_));
    const auto title = fmt::format("flush of {} ms", static_cast<double>(flush_us_) / 1000);
    out.note(fmt::format(
        "From here on a preloaded shim (bench/slow_flush.c) makes every flush of the benchmarks' own "
        "PostgreSQL take {} us at least, as on a cloud volume: a commit takes {:.2f} ms",
        flush_us_, commit_milliseconds(on)));
    auto all = measure(on, out);
    tell(out, all, title, "slow");
    if (std::find(clients_.begin(), clients_.end(), 32) == clients_.end()) return;
    out.section("ratios at 32 clients, " + title);
    out.key("writers_ratio", ratio(all, variant::outboxd, 32));
    out.key("writers_vs_messages", ratio(all, variant::outboxd, 32) / ratio(all, variant::messages, 32));
    out.key("muted_ratio", ratio(all, variant::unattended, 32));
  }

 private:
  measured measure(const setup& on, report& out) {
    stage where(on, test::queue_type::quorum, /*autovacuum=*/true);
    create_orders(where);
    auto session = where.connect();
    std::vector<variant> variants{variant::none,    variant::row_notify, variant::statement_notify,
                                  variant::outboxd, variant::messages,   variant::unattended};
    make_plain_triggers(session);
    made_ = ways_of(session);
    measured all;
    for (int round = 1; round <= rounds_; ++round) {
      for (const int clients : clients_) {
        for (const variant which : variants) measure_one(on, where, which, clients, all[{which, clients}]);
        out.note(fmt::format("round {} with {} clients is through", round, clients));
      }
      // The order changes with the rounds, because the first run follows a restart or may overlap other work.
      std::rotate(variants.begin(), variants.begin() + 1, variants.end());
    }
    return all;
  }

  // Writers without a relay: measured in pairs of runs, because the difference is small.
  void leave_unattended(const setup& on, report& out) {
    constexpr int clients = 16;
    stage where(on, test::queue_type::quorum, /*autovacuum=*/true);
    create_orders(where);
    auto session = where.connect();
    make_plain_triggers(session);
    made_ = ways_of(session);
    measured all;
    std::vector<variant> pair{variant::none, variant::unattended};
    for (int round = 0; round < rounds_ * 3; ++round) {
      for (const variant which : pair) measure_one(on, where, which, clients, all[{which, clients}]);
      std::swap(pair.front(), pair.back());
    }
    out.section(fmt::format("no relay runs, {} clients, disk as it is", clients));
    out.figure("into a bare table", all[{variant::none, clients}].commits_per_second, "commits/s");
    out.figure("into outboxd's", all[{variant::unattended, clients}].commits_per_second, "commits/s");
    out.key("unattended_ratio",
            out.figure("with / without", ratios(all, variant::unattended, clients), "").median);
  }

  // The columns and indexes that `migrate` creates beyond those of the bare table.
  struct ways {
    std::string bell, refuses;
  };
  static ways ways_of(test::database& session) {
    return {session.value("SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef AS d JOIN pg_attribute AS a"
                          " ON a.attrelid = d.adrelid AND a.attnum = d.adnum"
                          " WHERE d.adrelid = 'outbox.event'::regclass AND a.attname = 'tx'"),
            session.value("SELECT pg_get_indexdef('outbox.event_refused'::regclass)")};
  }

  static void make_plain_triggers(test::database& session) {
    session.exec(R"(
      CREATE FUNCTION row_notify() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM pg_notify('plain', NEW.id::text);
        RETURN NULL;
      END $$;
      CREATE FUNCTION statement_notify() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM pg_notify('plain', '');
        RETURN NULL;
      END $$;
      CREATE TRIGGER row_notify AFTER INSERT ON outbox.event FOR EACH ROW EXECUTE FUNCTION row_notify();
      CREATE TRIGGER statement_notify AFTER INSERT ON outbox.event
        FOR EACH STATEMENT EXECUTE FUNCTION statement_notify())");
  }

  // Without outboxd's additions to an INSERT, the table is a bare one with the same columns and indexes.
  static void use(test::database& session, variant which, const ways& made) {
    const auto set = [&](const char* trigger, bool wanted) {
      session.exec(fmt::format("ALTER TABLE outbox.event {} TRIGGER {}", wanted ? "ENABLE ALWAYS" : "DISABLE",
                               trigger));
    };
    set("row_notify", which == variant::row_notify);
    set("statement_notify", which == variant::statement_notify);
    const bool ours = which == variant::unattended || which == variant::outboxd || which == variant::messages;
    session.exec("DROP INDEX IF EXISTS outbox.event_refused");
    session.exec("ALTER TABLE outbox.event ALTER tx SET DEFAULT " +
                 (ours ? made.bell : std::string("pg_current_xact_id()")));
    if (ours) session.exec(made.refuses);
  }

  void measure_one(const setup& on, stage& where, variant which, int clients, writer_rounds& into) {
    auto session = where.connect();
    session.exec("TRUNCATE orders");
    session.exec("TRUNCATE outbox.event");
    use(session, which, made_);
    where.purge();
    where.come_to_rest(session);
    std::optional<relay> running;
    std::optional<paced_publisher> sending;
    if (which == variant::messages)
      sending.emplace(on, delivered_[clients], load_begins_after + std::chrono::milliseconds(milliseconds_),
                      message_size, lanes_);
    if (which == variant::outboxd) running.emplace(on, where, relay_flags());
    const auto load = load_orders(where, clients, std::chrono::milliseconds(milliseconds_));
    into.commits_per_second.push_back(static_cast<double>(load.commits) / load.seconds);
    into.p50.push_back(percentile(load.latencies_ms, 0.50));
    into.p99.push_back(percentile(load.latencies_ms, 0.99));
    if (sending) sending->finish();
    if (which == variant::outboxd) delivered_[clients] = into.commits_per_second.back();
    if (running) {
      const auto began = std::chrono::steady_clock::now();
      await("every event is delivered", [&] { return where.messages() >= load.commits; });
      into.catch_up.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
      running->stop();
      if (const auto there = where.messages(); there != load.commits)
        throw std::runtime_error(fmt::format("{} events were committed, {} delivered", load.commits, there));
    }
  }
  std::vector<std::string> relay_flags() const { return {"--relay-lanes", std::to_string(lanes_)}; }

  void tell(report& out, const measured& all, const std::string& title, const std::string& plot_name) const {
    plot lines{.title = "Commits per second, " + title,
               .x_label = "clients",
               .y_label = "commits per second",
               .series = {},
               .log_x = true};
    std::map<variant, plot_series> series;
    for (const auto& [what, of] : all) {
      const auto& [which, clients] = what;
      out.section(fmt::format("{}, {} clients, {}", name_of(which), clients, title));
      const auto rate = out.figure("commits", of.commits_per_second, "commits/s");
      out.figure("commit latency p50", of.p50, "ms");
      out.figure("commit latency p99", of.p99, "ms");
      if (!of.catch_up.empty()) out.figure("the last event delivered after the load by", of.catch_up, "s");
      if (which != variant::none)
        out.figure("commits / without trigger and relay", ratios(all, which, clients), "");
      series[which].name = name_of(which);
      series[which].points.push_back({static_cast<double>(clients), rate.median});
    }
    for (auto& [which, one] : series) lines.series.push_back(std::move(one));
    out.draw(lines, plot_name);
  }

  static std::vector<double> ratios(const measured& all, variant which, int clients) {
    const auto& ours = all.at({which, clients}).commits_per_second;
    const auto& base = all.at({variant::none, clients}).commits_per_second;
    std::vector<double> out;
    for (std::size_t i = 0; i < ours.size(); ++i) out.push_back(ours[i] / base[i]);
    return out;
  }
  static double ratio(const measured& all, variant which, int clients) {
    return spread_of(ratios(all, which, clients)).median;
  }

  static constexpr std::int64_t message_size = 90;  // bytes of body, similar to the orders' events
  std::vector<int> clients_{1, 8, 32, 64};
  int milliseconds_ = 5'000;
  int rounds_ = 3;
  int flush_us_ = 1'500;
  int lanes_ = default_lanes;
  std::map<int, double> delivered_;  // per second, by number of clients, in outboxd's latest run
  ways made_;
};

}  // namespace

std::unique_ptr<part> writers_part() {
  return std::make_unique<writers>();
}

}  // namespace outboxd::bench

#include "drain_round.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <thread>

#include "process_usage.hpp"
#include "support/broker.hpp"
#include "support/database.hpp"
#include "support/process.hpp"

namespace outboxd::bench {
namespace {

using namespace std::chrono_literals;
constexpr auto drain_limit = 20min;

// The rate comes from the table's own timestamps, so looking seldom costs no accuracy, and looking often would compete.
constexpr auto look_interval = 100ms;

template <class Condition>
void wait_until(const std::string& what, Condition&& condition) {
  const auto deadline = std::chrono::steady_clock::now() + drain_limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) throw std::runtime_error("did not happen: " + what);
    std::this_thread::sleep_for(look_interval);
  }
}

class bench_queue {
 public:
  explicit bench_queue(const std::string& type)
      : name_(fmt::format("outboxd.bench.{}", getpid())), key_(name_) {
    broker_.declare_exchange("outbox");
    broker_.declare_queue(name_, type == "quorum" ? test::queue_type::quorum : test::queue_type::classic);
    broker_.bind(name_, "outbox", key_);
  }
  ~bench_queue() { broker_.delete_queue(name_); }
  bench_queue(const bench_queue&) = delete;
  bench_queue& operator=(const bench_queue&) = delete;

  const std::string& key() const { return key_; }
  std::int64_t messages() { return broker_.message_count(name_); }

 private:
  test::broker broker_;
  std::string name_;
  std::string key_;
};

void fill(test::database& session, const drain_options& how, const std::string& key) {
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', (g * 7919 % $1::bigint)::text, $2, jsonb_build_object('n', g, 'text', repeat('x', "
      "$3::int))"
      " FROM generate_series(1, $4::bigint) AS g",
      {std::to_string(how.aggregates), key, std::to_string(how.size), std::to_string(how.events)});
  session.exec("VACUUM ANALYZE outbox.event");
  session.exec("CHECKPOINT");
}

std::map<std::string, std::string> environment_of(const test::fresh_database& database) {
  return {{"OUTBOXD_DATABASE_URL", database.url()}};
}

std::int64_t commits(test::database& session) {
  session.exec("SELECT pg_stat_force_next_flush()");
  return session.number("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()");
}

}  // namespace

drain_result drain(const drain_options& how) {
  const test::fresh_database database;
  bench_queue queue(how.queue_type);
  test::process migrate({.program = how.outboxd,
                         .arguments = {"migrate"},
                         .environment = environment_of(database),
                         .log_file = {}});
  if (migrate.wait() != test::exit_status{.code = 0, .signal = {}}) throw std::runtime_error(migrate.tail());
  auto session = database.connect();
  fill(session, how, queue.key());

  const auto wal = session.value("SELECT pg_current_wal_lsn()");
  const auto commits_before = commits(session);
  std::vector<std::string> arguments{"run", "--log-level", "warn"};
  arguments.insert(arguments.end(), how.relay_flags.begin(), how.relay_flags.end());
  test::process relay({.program = how.outboxd,
                       .arguments = arguments,
                       .environment = environment_of(database),
                       .log_file = {}});
  // The queue is asked, not the table: a query over the table would compete with the relay.
  wait_until("the queue has every event", [&] { return queue.messages() >= how.events || !relay.running(); });
  wait_until("every event is marked", [&] {
    return session.number("SELECT count(*) FROM outbox.event WHERE status = 'pending'") == 0 ||
           !relay.running();
  });
  const auto used = usage_of(relay.pid());

  const auto total = static_cast<double>(how.events);
  drain_result out;
  out.events_per_second = std::stod(session.value(
      "SELECT (count(*) - (SELECT count(*) FROM outbox.event WHERE published_at = first))"
      " / extract(epoch FROM max(published_at) - first)"
      " FROM outbox.event, (SELECT min(published_at) AS first FROM outbox.event) AS f GROUP BY first"));
  out.cpu_us_per_event = used.cpu_seconds * 1e6 / total;
  out.peak_rss_mb = used.peak_rss_mb;
  out.wal_bytes_per_event =
      std::stod(session.value("SELECT pg_current_wal_lsn() - $1::pg_lsn", {wal})) / total;
  out.transactions_per_event = static_cast<double>(commits(session) - commits_before) / total;
  relay.send(SIGTERM);
  if (relay.wait(30s) != test::exit_status{.code = 0, .signal = {}}) throw std::runtime_error(relay.tail());
  if (const auto there = queue.messages(); there != how.events)
    throw std::runtime_error(
        fmt::format("{} events were drained, but the queue has {} messages", how.events, there));
  return out;
}

}  // namespace outboxd::bench

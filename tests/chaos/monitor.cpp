// monitor: runs in one thread.
#include "monitor.hpp"

#include <fmt/format.h>

#include <csignal>
#include <utility>

namespace outboxd::chaos {
namespace {

using namespace std::chrono_literals;
using namespace test;
using clock = std::chrono::steady_clock;

constexpr auto pause = 100ms;
constexpr auto too_long = 5s;
// A probe this slow means that the machine or the server is slow in general.
constexpr auto slow_probe = 1s;

// Faults that make a server refuse a relay permanently.
bool refuses(const planned& one) {
  return one.what == fault::database_password || one.what == fault::broker_password ||
         one.what == fault::permission_revoked;
}

}  // namespace

bool may_end(const death& one, const injector& faults, moment at) {
  return one.status.code == 1 && faults.at_work(refuses, at - 20s, at);
}

monitor::monitor(surroundings all, const lead_rules& leads, const writers& load, const injector& faults)
    : all_{all}, writers_{load}, faults_{faults}, leads_{all, leads, faults} {
  all_.where.connect().exec("CREATE TABLE IF NOT EXISTS probe (n bigint); INSERT INTO probe VALUES (0)");
  thread_ = std::thread{[this] { run(); }};
}

monitor::~monitor() {
  if (thread_.joinable()) finish();
}

sightings monitor::finish() {
  stopping_ = true;
  thread_.join();
  seen_.leads = leads_.finish();
  seen_.delays.insert(seen_.delays.end(), seen_.leads.delays.begin(), seen_.leads.delays.end());
  return seen_;
}

void monitor::run() {
  while (!stopping_) {
    look_at_relays();
    try {
      if (!session_)
        session_.emplace(database{all_.where.database_url() + "?application_name=chaos_monitor"});
      probe();
      look_at_transactions();
      look_at_table();
    } catch (const database_error& error) {
      if (!session_ || PQstatus(session_->handle()) != CONNECTION_OK) session_.reset();
    }
    look_at_writers();
    std::this_thread::sleep_for(pause);
  }
}

void monitor::look_at_relays() {
  for (const auto& one : all_.relays) {
    auto end = one->take_unasked_death();
    if (!end) continue;
    const bool at_point = one->has_failpoints() && end->status.signal == SIGKILL;
    if (at_point) ++seen_.ended_at_points;
    end->tolerated = at_point || may_end(*end, faults_, clock::now());
    if (!end->tolerated)
      seen_.violations.push_back(fmt::format("relay {} ended by itself ({}):\n{}", one->number(),
                                             end->status.code ? fmt::format("code {}", *end->status.code)
                                                              : fmt::format("signal {}", *end->status.signal),
                                             end->last_words));
    one->record(*end);
    one->start();
  }
}

// This query waits for a lock that a fault holds on the table, until the timeout.
void monitor::look_at_table() {
  session_->exec("SET lock_timeout = '100ms'");
  const auto rows = session_->exec(
      "SELECT id, (extract(epoch FROM published_at) * 1000000)::bigint FROM outbox.event"
      " WHERE status = 'published' AND published_at >= to_timestamp($1::bigint / 1000000.0) - interval '1 "
      "second'",
      {std::to_string(published_until_)});
  for (const auto& row : rows) {
    seen_.published.insert(*row[0]);
    published_until_ = std::max<std::int64_t>(published_until_, std::stoll(*row[1]));
  }
}

// Invariant 10: a relay has no open transaction between its statements. A session delayed by a disturbed link
// does not count as idle.
void monitor::look_at_transactions() {
  const auto open = session_->number(
      "SELECT count(*) FROM pg_stat_activity WHERE usename = $1 AND state LIKE 'idle in transaction%'"
      " AND state_change < clock_timestamp() - interval '1 second'",
      {all_.where.user()});
  if (open > 0 && !std::exchange(said_open_, true))
    seen_.violations.push_back(fmt::format("{} sessions of relays are idle in a transaction", open));
}

void monitor::probe() {
  const auto began = clock::now();
  session_->exec("UPDATE probe SET n = n + 1");
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - began);
  seen_.longest_probe = std::max(seen_.longest_probe, took);
  if (took > slow_probe) slow_since_ = clock::now();
}

// Invariant 11: while PostgreSQL works, a writer's transaction never takes long, whatever happens to relays
// and broker.
void monitor::look_at_writers() {
  if (writers_.longest_under_way() < too_long) {
    said_slow_ = false;
    return;
  }
  const auto now = clock::now();
  const bool excused =
      now - slow_since_ < 2 * too_long || !session_ ||
      faults_.at_work([](const planned& one) { return one.whom.what == target::kind::postgres; },
                      now - 2 * too_long, now);
  if (excused || said_slow_) return;
  said_slow_ = true;
  seen_.delays.push_back(fmt::format("a writer's transaction has lasted {} ms while PostgreSQL was well",
                                     writers_.longest_under_way().count()));
}

}  // namespace outboxd::chaos

#include "stage/stage.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "stage/broker_log.hpp"
#include "stage/interruption.hpp"
#include "support/process.hpp"

namespace outboxd::bench {
namespace {

std::string unique_name() {
  stop_if_interrupted();  // before anything is created that would have to be removed
  static int counter = 0;
  return fmt::format("outboxd.bench.{}.{}", getpid(), ++counter);
}

void migrate(const setup& on, const std::string& url, int shards) {
  using namespace std::chrono_literals;
  test::process migration({.program = on.program("outboxd"),
                           .arguments = {"migrate", "--shards", std::to_string(shards)},
                           .environment = {{"OUTBOXD_DATABASE_URL", url}},
                           .log_file = {}});
  if (migration.wait(60s) != test::exit_status{.code = 0, .signal = {}})
    throw std::runtime_error("outboxd migrate failed: " + migration.tail());
}

}  // namespace

// A separate exchange, so that the events do not reach other users' queues.
stage::stage(const setup& on, test::queue_type type, bool autovacuum, int shards)
    : on_(on), name_(unique_name()), database_(on.database_url), broker_(on.amqp_url) {
  migrate(on, url(), shards);
  if (!autovacuum) connect().exec("ALTER TABLE outbox.event SET (autovacuum_enabled = off)");
  broker_.declare_exchange(name_);
  broker_.declare_queue(name_, type);
  broker_.bind(name_, name_, name_);
}

stage::~stage() {
  try {
    broker_.delete_queue(name_);
    broker_.delete_exchange(name_);
  } catch (const std::exception& failed) {
    fmt::print(stderr, "queue and exchange {} are left behind: {}\n", name_, failed.what());
  }
}

std::int64_t stage::messages() {
  return broker_.message_count(name_);
}

void stage::purge() {
  broker_.purge(name_);
}

void stage::insert(test::database& session, const filling& how) {
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, exchange, payload, headers)"
      " SELECT 'order', (n * 7919 % $1::bigint)::text, $2, $3,"
      " jsonb_build_object('a', n * 7919 % $1::bigint, 'n', n, 'text', repeat('x', $4::int)),"
      " CASE WHEN $6::bigint = 0 THEN '{}' ELSE jsonb_build_object('traceparent',"
      " format('00-%s-%s-0%s', md5(n::text), left(md5(n::text), 16), (n % $6::bigint = 0)::int)) END"
      " FROM generate_series(1, $5::bigint) AS n",
      {std::to_string(how.aggregates), event_type(), exchange(), std::to_string(how.size),
       std::to_string(how.events), std::to_string(how.sampled_every)});
}

// In portions, like events that are published: a single transaction of five million rows behaves differently.
void stage::add_published(const filling& like, std::int64_t count) {
  constexpr std::int64_t portion = 250'000;
  auto session = connect();
  for (auto left = count; left > 0; left -= portion) {
    stop_if_interrupted();
    session.exec(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, exchange, payload, status, "
        "published_at)"
        " SELECT 'order', (n * 7919 % $1::bigint)::text, $2, $3,"
        " jsonb_build_object('n', n, 'text', repeat('x', $4::int)), 'published', now()"
        " FROM generate_series(1, $5::bigint) AS n",
        {std::to_string(like.aggregates), event_type(), exchange(), std::to_string(like.size),
         std::to_string(std::min(left, portion))});
  }
}

std::int64_t stage::fill(const filling& how) {
  auto session = connect();
  const auto before = session.number("SELECT coalesce(max(seq), 0) FROM outbox.event");
  insert(session, how);
  session.exec("VACUUM ANALYZE outbox.event");
  come_to_rest(session);
  return before;
}

// Postpones the next automatic checkpoint. On a server that is not our own, this may not be allowed.
void stage::come_to_rest(test::database& session) const {
  empty_broker_log(on_);
  try {
    session.exec("CHECKPOINT");
  } catch (const test::database_error& refused) {
    if (refused.sqlstate != "42501") throw;
  }
}

void stage::clear(std::int64_t after) {
  auto session = connect();
  session.exec("DELETE FROM outbox.event WHERE seq > $1 AND status = 'published'", {std::to_string(after)});
  session.exec("VACUUM outbox.event");
  purge();
}

}  // namespace outboxd::bench

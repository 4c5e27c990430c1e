#include "stage/partitions.hpp"

#include <stdexcept>

#include "support/process.hpp"

namespace outboxd::bench {
namespace {

void add_published(test::database& session, const stage& where) {
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, exchange, payload, status,"
      " published_at) VALUES ('order', '0', $1, $2, '{}', 'published', now())",
      {where.event_type(), where.exchange()});
}

}  // namespace

void partition(const setup& on, const stage& where, int in_use) {
  using namespace std::chrono_literals;
  test::process migration({.program = on.program("outboxd"),
                           .arguments = {"migrate", "--partition", "daily"},
                           .environment = {{"OUTBOXD_DATABASE_URL", where.url()}},
                           .log_file = {}});
  if (migration.wait(60s) != test::exit_status{.code = 0, .signal = {}})
    throw std::runtime_error("outboxd migrate failed: " + migration.tail());
  auto session = where.connect();
  session.exec("DROP TABLE outbox.event_p0");  // empty: the relay would drop it during the measurement
  for (int used = 1;; ++used) {
    add_published(session, where);
    if (used == in_use) break;
    session.exec("UPDATE outbox.event_partition SET began_at = began_at - interval '25 h'");
    session.exec("SELECT outbox.rotate_partition()");
  }
  if (const auto found = session.number("SELECT count(DISTINCT tableoid) FROM outbox.event"); found != in_use)
    throw std::runtime_error("the outbox is not in as many partitions as it should be");
}

void leave_whole(const stage& where, int events) {
  auto session = where.connect();
  for (int i = 0; i < events; ++i) add_published(session, where);
}

}  // namespace outboxd::bench

#include "partition_rotator.hpp"

namespace outboxd::chaos {

partition_rotator::partition_rotator(const arena& where, std::chrono::milliseconds interval)
    : where_{where}, interval_{interval}, thread_{[this] { run(); }} {}

partition_rotator::~partition_rotator() {
  finish();
}

void partition_rotator::finish() {
  {
    const std::scoped_lock hold{mutex_};
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void partition_rotator::run() {
  std::unique_lock hold{mutex_};
  while (!changed_.wait_for(hold, interval_, [this] { return stopping_; })) {
    hold.unlock();
    try {
      // A new session each time, with a limited wait for an unavailable server, because there will be a next
      // turn.
      test::database session{where_.database_url() + "?application_name=chaos_turner"};
      session.exec("SET statement_timeout = '5s'; SET lock_timeout = '20ms'");
      session.exec("SELECT outbox.rotate_partition()");
    } catch (const test::database_error&) {
      // The server is unavailable or read-only, or the table is locked, which is expected during a run.
    }
    hold.lock();
  }
}

std::int64_t partitions_used(test::database& session) {
  return session.number("SELECT count(DISTINCT tableoid) FROM outbox.event");
}

}  // namespace outboxd::chaos

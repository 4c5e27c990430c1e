// load: the writers' loop.
#include "load.hpp"

#include <random>

namespace outboxd::test {

load::load(const stage& on, const load_options& how) : stage_{on}, how_{how} {
  for (int i = 0; i < how_.writers; ++i) {
    writers_.emplace_back([this, i] {
      try {
        write(i);
      } catch (...) {
        if (!failed_.exchange(true)) failure_ = std::current_exception();
      }
    });
  }
}

load::~load() {
  stopping_ = true;
  for (auto& one : writers_) one.join();
}

void load::stop() {
  stopping_ = true;
  finish();
}

void load::finish() {
  for (auto& one : writers_) one.join();
  writers_.clear();
  if (failure_) std::rethrow_exception(failure_);
}

// A backlog that grows for as long as a server is away would make a test longer and show nothing more.
void load::pause(database& session) const {
  constexpr int most_pending = 2'000;
  session.exec(
      fmt::format("SELECT pg_sleep(CASE WHEN count(*) < {0} THEN {1} ELSE 0.1 END)"
                  " FROM (SELECT FROM outbox.event WHERE status = 'pending' LIMIT {0}) AS pending",
                  most_pending, how_.pause_seconds));
}

// A commit whose answer was lost may have happened or not: the table knows, and the check asks the table.
void load::write(int writer) {
  std::mt19937 random(static_cast<unsigned>(writer));
  auto session = stage_.connect();
  for (int written = 0; !stopping_ && (how_.events == 0 || written < how_.events);) {
    const int most = how_.events == 0 ? 10 : std::min(10, how_.events - written);
    const int count = std::uniform_int_distribution<int>(1, most)(random);
    const int first = std::uniform_int_distribution<int>(0, how_.aggregates - 1)(random);
    try {
      session.exec(
          "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
          " SELECT 'order', $1 || '-' || ($2::int + n / 2) % $3::int, $4, jsonb_build_object('n', n)"
          " FROM generate_series(1, $5::int) AS n",
          {std::to_string(writer), std::to_string(first), std::to_string(how_.aggregates), stage_.key("load"),
           std::to_string(count)});
      written += count;
      if (how_.pause_seconds > 0) pause(session);
    } catch (const database_error&) {
      if (PQstatus(session.handle()) == CONNECTION_OK) throw;
      session = stage_.connect();
    }
  }
}

}  // namespace outboxd::test

#include "stage/barest_drain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>

#include "stage/bare_publisher.hpp"
#include "stage/crew.hpp"

namespace outboxd::bench {
namespace {

class reader {
 public:
  explicit reader(const stage& where) : session_(where.connect()) {
    session_.exec("SET synchronous_commit = off; SET enable_seqscan = off; SET enable_bitmapscan = off");
    prepare(
        "read",
        "SELECT id, seq, aggregate_type, aggregate_id, event_type, payload::text, headers::text, exchange,"
        " created_at FROM outbox.event WHERE seq > $1::bigint AND seq <= $2::bigint");
    prepare("mark",
            "UPDATE outbox.event SET status = 'published', published_at = clock_timestamp()"
            " WHERE seq > $1::bigint AND seq <= $2::bigint");
  }

  // Returns the number of events.
  std::int64_t read_and_mark(std::int64_t after, std::int64_t last) {
    session_.exec("BEGIN");
    run("read", after, last);
    const auto marked = run("mark", after, last);
    session_.exec("COMMIT");
    return std::stoll(PQcmdTuples(marked.get()));
  }

 private:
  using answer = std::unique_ptr<PGresult, decltype(&PQclear)>;

  void prepare(const char* name, const char* sql) {
    check(answer(PQprepare(session_.handle(), name, sql, 0, nullptr), &PQclear));
  }

  // Requests the result in binary format, as a relay does.
  answer run(const char* name, std::int64_t after, std::int64_t last) {
    const std::string from = std::to_string(after);
    const std::string to = std::to_string(last);
    const char* const values[] = {from.c_str(), to.c_str()};
    return check(answer(PQexecPrepared(session_.handle(), name, 2, values, nullptr, nullptr, 1), &PQclear));
  }

  static answer check(answer from) {
    const auto status = PQresultStatus(from.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
      throw std::runtime_error(PQresultErrorMessage(from.get()));
    return from;
  }

  test::database session_;
};

}  // namespace

void make_room_for_marks(stage& where) {
  where.connect().exec("ALTER TABLE outbox.event SET (fillfactor = 45)");
}

double barest_drain(const setup& on, const stage& where, const std::string& queue_type,
                    std::int64_t after_seq, const filling& how, int connections, std::int64_t batch) {
  std::int64_t marked = 0;
  double published_per_second = 0;
  std::chrono::duration<double> took{};
  work_together(2, [&](std::size_t member) {
    if (member == 0) {
      published_per_second = bare_publisher(on, queue_type, how.events, how.body_bytes(), connections);
      return;
    }
    const auto began = std::chrono::steady_clock::now();
    reader one(where);
    for (std::int64_t from = 0; from < how.events; from += batch)
      marked += one.read_and_mark(after_seq + from, after_seq + std::min(from + batch, how.events));
    took = std::chrono::steady_clock::now() - began;
  });
  if (marked != how.events)
    throw std::runtime_error(fmt::format("{} of {} events were marked", marked, how.events));
  return std::min(published_per_second, static_cast<double>(how.events) / took.count());
}

}  // namespace outboxd::bench

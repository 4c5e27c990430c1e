#include "stage/order_load.hpp"

#include <array>
#include <stdexcept>
#include <string>

#include "stage/crew.hpp"

namespace outboxd::bench {
namespace {

using clock = std::chrono::steady_clock;

// One session that sends each transaction as one pipeline of prepared statements.
class client {
 public:
  client(const stage& where, std::size_t which)
      : session_(where.connect()), customer_(std::to_string(which)) {
    prepare("begin", "BEGIN");
    prepare("order", "INSERT INTO orders (customer, total) VALUES ($1::bigint, 1990)");
    prepare(
        "event",
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, exchange, payload)"
        " VALUES ('order', currval('orders_id_seq')::text, '" +
            where.event_type() + "', '" + where.exchange() +
            "', '{\"customer\": 42, \"total\": 19.90, \"text\": \"a few words about what was ordered\"}')");
    prepare("commit", "COMMIT");
    if (PQenterPipelineMode(link()) == 0) throw std::runtime_error("cannot enter the pipeline mode");
  }

  void commit_order() {
    run("begin", false);
    run("order", true);
    run("event", false);
    run("commit", false);
    if (PQpipelineSync(link()) == 0) fail();
    for (bool synced = false; !synced;) {
      PGresult* const result = PQgetResult(link());
      if (result == nullptr) {
        if (PQstatus(link()) != CONNECTION_OK) fail();
        continue;  // end of a statement's results
      }
      const auto status = PQresultStatus(result);
      PQclear(result);
      synced = status == PGRES_PIPELINE_SYNC;
      if (!synced && status != PGRES_COMMAND_OK) fail();
    }
  }

 private:
  PGconn* link() { return session_.handle(); }
  void prepare(const char* name, const std::string& sql) {
    PGresult* const result = PQprepare(link(), name, sql.c_str(), 0, nullptr);
    const auto status = PQresultStatus(result);
    PQclear(result);
    if (status != PGRES_COMMAND_OK) fail();
  }
  void run(const char* name, bool of_customer) {
    const std::array<const char*, 1> values{customer_.c_str()};
    if (PQsendQueryPrepared(link(), name, of_customer ? 1 : 0, values.data(), nullptr, nullptr, 0) == 0)
      fail();
  }
  [[noreturn]] void fail() { throw std::runtime_error(std::string("a client: ") + PQerrorMessage(link())); }

  test::database session_;
  std::string customer_;
};

}  // namespace

void create_orders(stage& on) {
  on.connect().exec(
      "CREATE TABLE orders (id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, customer bigint NOT NULL,"
      " total bigint NOT NULL, ordered_at timestamptz NOT NULL DEFAULT now())");
}

load_result load_orders(const stage& where, int clients, std::chrono::milliseconds duration) {
  const auto count = static_cast<std::size_t>(clients);
  std::vector<std::vector<double>> latencies(count);
  const auto began = clock::now() + load_begins_after;  // all are connected by then
  const auto end = began + duration;
  work_together(count, [&](std::size_t which) {
    client one(where, which);
    std::this_thread::sleep_until(began);
    for (auto now = clock::now(); now < end;) {
      one.commit_order();
      const auto then = std::exchange(now, clock::now());
      latencies[which].push_back(std::chrono::duration<double, std::milli>(now - then).count());
    }
  });
  load_result out;
  out.seconds = std::chrono::duration<double>(clock::now() - began).count();
  for (const auto& one : latencies) {
    out.commits += static_cast<std::int64_t>(one.size());
    out.latencies_ms.insert(out.latencies_ms.end(), one.begin(), one.end());
  }
  return out;
}

}  // namespace outboxd::bench

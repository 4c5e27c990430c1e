// batch_relay: a baseline: the worker that people write when handling one event at a time is too slow. It
// locks a batch of pending rows with FOR UPDATE SKIP LOCKED, publishes all of them, waits for their confirms,
// marks them with one UPDATE, and commits. When nothing is pending, the worker polls. Such workers do not
// keep order: several of them lock rows of the same aggregate in any order, and a failed batch is published
// again as a whole. The worker uses the table plain.event (stage/plain_outbox.hpp) until it is killed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <set>
#include <thread>

#include "plain_channel.hpp"
#include "support/database.hpp"

namespace {

using namespace outboxd::test;

class worker {
 public:
  worker(const std::string& database_url, const std::string& amqp_url, int batch)
      : session_(database_url), channel_(amqp_url), batch_(std::to_string(batch)) {}

  // Returns the number of published events.
  std::size_t work() {
    session_.exec("BEGIN");
    const auto rows = session_.exec(
        "SELECT id, exchange, event_type, payload FROM plain.event WHERE status = 'pending'"
        " ORDER BY seq LIMIT $1 FOR UPDATE SKIP LOCKED",
        {batch_});
    std::string ids;
    for (const auto& row : rows) {
      channel_.publish(*row[0], *row[1], *row[2], *row[3]);
      unconfirmed_.insert(++latest_);
      ids += (ids.empty() ? "{" : ",") + *row[0];
    }
    await_confirms();
    if (!rows.empty())
      session_.exec(
          "UPDATE plain.event SET status = 'published', published_at = clock_timestamp()"
          " WHERE id = ANY ($1)",
          {ids + "}"});
    session_.exec("COMMIT");
    return rows.size();
  }

 private:
  void await_confirms() {
    while (!unconfirmed_.empty()) {
      const auto ack = channel_.await_ack();
      if (ack.multiple != 0)
        unconfirmed_.erase(unconfirmed_.begin(), unconfirmed_.upper_bound(ack.delivery_tag));
      else
        unconfirmed_.erase(ack.delivery_tag);
    }
  }

  database session_;
  outboxd::bench::plain_channel channel_;
  std::string batch_;
  std::uint64_t latest_ = 0;  // delivery tag
  std::set<std::uint64_t> unconfirmed_;
};

}  // namespace

int main(int argc, char** argv) {
  std::string database_url;
  std::string amqp_url;
  int workers = 1;
  int batch = 500;
  int poll_ms = 100;
  CLI::App app{"The batch relay: SKIP LOCKED, and the confirms of a whole batch"};
  app.add_option("--database-url", database_url)->envname("OUTBOXD_DATABASE_URL")->required();
  app.add_option("--amqp-url", amqp_url)->envname("OUTBOXD_AMQP_URL")->required();
  app.add_option("--workers", workers)->check(CLI::Range(1, 64));
  app.add_option("--batch", batch)->check(CLI::Range(1, 10'000));
  app.add_option("--poll-ms", poll_ms, "the pause after a look that found nothing")
      ->check(CLI::Range(1, 10'000));
  CLI11_PARSE(app, argc, argv);
  std::vector<std::thread> all;
  for (int i = 0; i < workers; ++i)
    all.emplace_back([&] {
      try {
        worker one(database_url, amqp_url, batch);
        for (;;)
          if (one.work() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(poll_ms));
      } catch (const std::exception& failed) {
        fmt::print(stderr, "batch_relay: {}\n", failed.what());
        std::_Exit(1);
      }
    });
  for (auto& each : all) each.join();
}

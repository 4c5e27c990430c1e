// plain_relay: a baseline: the relay that most teams write. A trigger notifies the id of every row, a pool of
// workers takes the ids one at a time, and each event has its own SELECT, publish, confirm and UPDATE. Uses
// the table plain.event (stage/plain_outbox.hpp) until it is killed.
#include <fmt/format.h>
#include <poll.h>

#include <CLI/CLI.hpp>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "plain_channel.hpp"
#include "support/database.hpp"

namespace {

using namespace outboxd::test;

// The ids to publish.
class work_list {
 public:
  void add(std::string id) {
    const std::lock_guard lock(mutex_);
    ids_.push_back(std::move(id));
    added_.notify_one();
  }
  std::string take() {
    std::unique_lock lock(mutex_);
    added_.wait(lock, [this] { return !ids_.empty(); });
    auto id = std::move(ids_.front());
    ids_.pop_front();
    return id;
  }

 private:
  std::mutex mutex_;
  std::condition_variable added_;
  std::deque<std::string> ids_;
};

class worker {
 public:
  worker(const std::string& database_url, const std::string& amqp_url)
      : session_(database_url), channel_(amqp_url) {}

  void work(work_list& from) {
    for (;;) {
      const auto id = from.take();
      const auto rows = session_.exec(
          "SELECT exchange, event_type, payload FROM plain.event WHERE id = $1 AND status = 'pending'", {id});
      if (rows.empty()) continue;  // already published: it was both notified and found in the table
      channel_.publish(id, *rows[0][0], *rows[0][1], *rows[0][2]);
      channel_.await_ack();
      session_.exec(
          "UPDATE plain.event SET status = 'published', published_at = clock_timestamp() WHERE id = $1",
          {id});
    }
  }

 private:
  database session_;
  outboxd::bench::plain_channel channel_;
};

// The events that were in the table before the relay started to listen.
void add_backlog(database& session, work_list& to) {
  constexpr std::size_t page = 1000;
  std::string last = "0";
  for (;;) {
    const auto rows = session.exec(
        "SELECT id, seq FROM plain.event WHERE status = 'pending' AND seq > $1 ORDER BY seq LIMIT 1000",
        {last});
    for (const auto& row : rows) {
      to.add(*row[0]);
      last = *row[1];
    }
    if (rows.size() < page) return;
  }
}

[[noreturn]] void listen(database& session, work_list& to) {
  for (;;) {
    PQconsumeInput(session.handle());
    if (PQstatus(session.handle()) != CONNECTION_OK) throw std::runtime_error("the database has gone");
    while (PGnotify* const one = PQnotifies(session.handle())) {
      to.add(one->extra);
      PQfreemem(one);
    }
    pollfd socket{PQsocket(session.handle()), POLLIN, 0};
    ::poll(&socket, 1, -1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string database_url;
  std::string amqp_url;
  int workers = 5;
  CLI::App app{"The plain relay: one event at a time"};
  app.add_option("--database-url", database_url)->envname("OUTBOXD_DATABASE_URL")->required();
  app.add_option("--amqp-url", amqp_url)->envname("OUTBOXD_AMQP_URL")->required();
  app.add_option("--workers", workers)->check(CLI::Range(1, 64));
  CLI11_PARSE(app, argc, argv);
  try {
    work_list work;
    database session(database_url);
    session.exec("LISTEN plain");
    for (int i = 0; i < workers; ++i) {
      std::thread([&] {
        try {
          worker(database_url, amqp_url).work(work);
        } catch (const std::exception& failed) {
          fmt::print(stderr, "plain_relay: {}\n", failed.what());
          std::_Exit(1);
        }
      }).detach();
    }
    add_backlog(session, work);
    listen(session, work);
  } catch (const std::exception& failed) {
    fmt::print(stderr, "plain_relay: {}\n", failed.what());
    std::_Exit(1);
  }
}

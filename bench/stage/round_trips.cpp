#include "stage/round_trips.hpp"

#include <poll.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/consumer.hpp"

namespace outboxd::bench {
namespace {

using clock = std::chrono::steady_clock;

double milliseconds_since(clock::time_point began) {
  return std::chrono::duration<double, std::milli>(clock::now() - began).count();
}

void await_notification(test::database& session) {
  for (;;) {
    PQconsumeInput(session.handle());
    if (PGnotify* const one = PQnotifies(session.handle())) {
      PQfreemem(one);
      return;
    }
    pollfd socket{PQsocket(session.handle()), POLLIN, 0};
    if (::poll(&socket, 1, 10'000) == 0) throw std::runtime_error("no notification came within 10 s");
  }
}

// From sending a COMMIT to receiving its notification.
class notify_path {
 public:
  explicit notify_path(const stage& where) : writer_(where.connect()), listener_(where.connect()) {
    writer_.exec("CREATE TABLE round_trip (n integer)");
    listener_.exec("LISTEN round_trip");
  }
  ~notify_path() { writer_.exec("DROP TABLE round_trip"); }
  notify_path(const notify_path&) = delete;
  notify_path& operator=(const notify_path&) = delete;

  void prepare() { writer_.exec("BEGIN; INSERT INTO round_trip VALUES (1); NOTIFY round_trip"); }
  void go() {
    if (PQsendQuery(writer_.handle(), "COMMIT") == 0) throw std::runtime_error("cannot send COMMIT");
    await_notification(listener_);
  }
  void finish() {
    while (PGresult* const result = PQgetResult(writer_.handle())) PQclear(result);
  }

 private:
  test::database writer_;
  test::database listener_;
};

// From publish to consumer.
class publish_path {
 public:
  publish_path(const setup& on, stage& where, std::size_t size)
      : where_(where), publisher_(on.amqp_url), consumer_(where.queue(), 0, on.amqp_url), body_(size, 'x') {}

  void go() {
    publisher_.publish(where_.exchange(), where_.event_type(), body_);
    message_ = consumer_.next();
    if (!message_) throw std::runtime_error("no message came within 10 s");
  }
  void finish() { consumer_.ack(*message_); }

 private:
  stage& where_;
  test::broker publisher_;
  test::consumer consumer_;
  std::string body_;
  std::optional<test::delivery> message_;
};

}  // namespace

std::vector<double> notify_round_trips(const stage& where, int count) {
  notify_path path(where);
  std::vector<double> all;
  for (int i = 0; i < count; ++i) {
    path.prepare();
    const auto began = clock::now();
    path.go();
    all.push_back(milliseconds_since(began));
    path.finish();
  }
  return all;
}

std::vector<double> publish_round_trips(const setup& on, stage& where, int count, std::size_t size) {
  publish_path path(on, where, size);
  std::vector<double> all;
  for (int i = 0; i < count; ++i) {
    const auto began = clock::now();
    path.go();
    all.push_back(milliseconds_since(began));
    path.finish();
  }
  return all;
}

std::vector<double> paced_round_trips(const setup& on, stage& where, int count, std::size_t size,
                                      std::chrono::microseconds every) {
  notify_path notify(where);
  publish_path publish(on, where, size);
  std::vector<double> all;
  auto next = clock::now();
  for (int i = 0; i < count; ++i) {
    std::this_thread::sleep_until(next += every);
    notify.prepare();
    const auto began = clock::now();
    notify.go();
    publish.go();
    all.push_back(milliseconds_since(began));
    notify.finish();
    publish.finish();
  }
  return all;
}

}  // namespace outboxd::bench

#include "stage/round_trips.hpp"

#include <poll.h>

#include <chrono>
#include <stdexcept>
#include <string>

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

}  // namespace

std::vector<double> notify_round_trips(const stage& where, int count) {
  auto writer = where.connect();
  auto listener = where.connect();
  writer.exec("CREATE TABLE round_trip (n integer)");
  listener.exec("LISTEN round_trip");
  std::vector<double> all;
  for (int i = 0; i < count; ++i) {
    writer.exec("BEGIN; INSERT INTO round_trip VALUES (1); NOTIFY round_trip");
    const auto began = clock::now();
    if (PQsendQuery(writer.handle(), "COMMIT") == 0) throw std::runtime_error("cannot send COMMIT");
    await_notification(listener);
    all.push_back(milliseconds_since(began));
    while (PGresult* const result = PQgetResult(writer.handle())) PQclear(result);
  }
  writer.exec("DROP TABLE round_trip");
  return all;
}

std::vector<double> publish_round_trips(const setup& on, stage& where, int count, std::size_t size) {
  test::broker publisher(on.amqp_url);
  test::consumer consumer(where.queue(), 0, on.amqp_url);
  const std::string body(size, 'x');
  std::vector<double> all;
  for (int i = 0; i < count; ++i) {
    const auto began = clock::now();
    publisher.publish(where.exchange(), where.event_type(), body);
    const auto message = consumer.next();
    if (!message) throw std::runtime_error("no message came within 10 s");
    all.push_back(milliseconds_since(began));
    consumer.ack(*message);
  }
  return all;
}

}  // namespace outboxd::bench

// broker_test: topology, publishing and consuming against a real RabbitMQ.
#include "support/broker.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include "support/consumer.hpp"
#include "support/eventually.hpp"

namespace outboxd::test::broker_test {
namespace {

/// An exchange and a queue of this test's own, gone at its end.
struct topology {
  explicit topology(queue_type type = queue_type::classic) {
    session.declare_exchange(exchange);
    session.declare_queue(queue, type);
    session.bind(queue, exchange, "order.*");
  }
  ~topology() {
    session.delete_queue(queue);
    session.delete_exchange(exchange);
  }
  topology(const topology&) = delete;
  topology& operator=(const topology&) = delete;

  broker session;
  std::string exchange = "test-exchange-" + std::to_string(::getpid());
  std::string queue = "test-queue-" + std::to_string(::getpid());
};

}  // namespace

TEST_CASE("a delivery carries body, key, properties and headers with their kinds") {
  for (const auto type : {queue_type::classic, queue_type::quorum}) {
    topology at{type};
    consumer reader{at.queue};
    at.session.publish(at.exchange, "order.created", std::string{"b\0dy", 4}, "id-1",
                       {{"seq", 9007199254740993}, {"name", "ü"}, {"flag", true}});
    const auto got = reader.take(1)[0];
    CHECK(got.body == std::string{"b\0dy", 4});
    CHECK(got.exchange == at.exchange);
    CHECK(got.routing_key == "order.created");
    CHECK(got.message_id() == "id-1");
    CHECK(got.properties.delivery_mode == 2);
    CHECK_FALSE(got.properties.content_type.has_value());
    CHECK_FALSE(got.redelivered);
    CHECK(got.properties.headers["seq"] == 9007199254740993);
    CHECK(got.properties.header_kinds ==
          std::map<std::string, char>{{"seq", 'l'}, {"name", 'S'}, {"flag", 't'}});
  }
}

TEST_CASE("what is not acknowledged comes again, flagged as redelivered") {
  topology at;
  at.session.publish(at.exchange, "order.created", "x", "id-1");
  {
    consumer first{at.queue};
    REQUIRE(first.next().has_value());
  }
  consumer second{at.queue};
  const auto again = second.next();
  REQUIRE(again.has_value());
  CHECK(again->redelivered);
}

TEST_CASE("next gives up at its deadline, and take says how many came") {
  topology at;
  consumer reader{at.queue};
  CHECK_FALSE(reader.next(std::chrono::milliseconds{20}).has_value());
  at.session.publish(at.exchange, "order.created", "x", "id-1");
  CHECK_THROWS_WITH_AS(reader.take(2, std::chrono::milliseconds{2000}),
                       "only 1 of 2 deliveries came within 2000 ms", deadline_passed);
}

TEST_CASE("a cancelled consumer hands out what had been sent to it") {
  topology at;
  consumer reader{at.queue};
  for (int i = 0; i < 5; ++i) at.session.publish(at.exchange, "order.created", "x", std::to_string(i));
  eventually("the consumer has them all", [&] { return at.session.message_count(at.queue) == 0; });
  REQUIRE(reader.next().has_value());
  reader.cancel();
  int left = 0;
  while (reader.next(std::chrono::milliseconds{0})) ++left;
  CHECK(left == 4);
}

TEST_CASE("a queue is counted, purged, unbound and deleted, and a refused call leaves the session usable") {
  topology at;
  at.session.publish(at.exchange, "order.created", "x");
  eventually("it is in the queue", [&] { return at.session.message_count(at.queue) == 1; });
  CHECK(at.session.purge(at.queue) == 1);
  at.session.unbind(at.queue, at.exchange, "order.*");
  at.session.publish(at.exchange, "order.created", "x");
  CHECK(at.session.message_count(at.queue) == 0);
  CHECK_FALSE(at.session.queue_exists(at.queue + "-not"));
  CHECK(at.session.queue_exists(at.queue));
  try {
    at.session.bind(at.queue, at.exchange + "-not", "#");
    FAIL("bound to an exchange that does not exist");
  } catch (const broker_error& error) {
    CHECK(error.code == 404);
  }
  CHECK(at.session.queue_exists(at.queue));
}

TEST_CASE("a consumer whose queue is deleted says so") {
  topology at;
  consumer reader{at.queue};
  at.session.delete_queue(at.queue);
  CHECK_THROWS_AS(reader.next(), broker_error);
}

}  // namespace outboxd::test::broker_test

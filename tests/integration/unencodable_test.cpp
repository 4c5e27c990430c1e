// Events that AMQP cannot carry are dead with the reason and stop nobody; those just within the limits go.
#include <doctest/doctest.h>

#include "stage.hpp"

namespace outboxd::test {
namespace {

// RabbitMQ's default frame_max, which a broker of tools/services offers; a body frame has 8 bytes of its own.
constexpr int largest_body_frame = 131'072 - 8;

struct bad_event {
  std::string name;
  std::string column;  // and its value, an SQL expression
  std::string value;
  std::vector<std::string> reason;  // has to contain all of these
};

const std::vector<bad_event> bad_events{
    {"routing key of 256 bytes", "routing_key", "repeat('k', 256)", {"routing key", "256", "255"}},
    {"routing key of 128 two-byte letters", "routing_key", "repeat('ü', 128)", {"routing key", "256", "255"}},
    {"exchange of 256 bytes", "exchange", "repeat('x', 256)", {"exchange", "256", "255"}},
    {"header name of 256 bytes",
     "headers",
     "jsonb_build_object(repeat('n', 256), 1)",
     {"header", "256", "255"}},
    {"inner header name of 256 bytes",
     "headers",
     "jsonb_build_object('outer', jsonb_build_object(repeat('n', 256), 1))",
     {"header \"outer\"", "256", "255"}},
    {"header with an empty name", "headers", R"('{"": 1}')", {"header", "empty name"}},
    {"header CC", "headers", R"('{"CC": ["audit"]}')", {"header \"CC\"", "routing keys"}},
    {"headers larger than a frame",
     "headers",
     "jsonb_build_object('big', repeat('b', 131072))",
     {"headers", "frame"}},
    {"integer beyond 64 bits",
     "headers",
     R"('{"most": 9223372036854775808}')",
     {"header \"most\"", "64 bits"}},
    {"number beyond a double", "headers", R"('{"huge": 1e400}')", {"header \"huge\""}},
    {"nested 100 deep",
     "headers",
     R"((repeat('{"deep":', 100) || '1' || repeat('}', 100))::jsonb)",
     {"header \"deep\"", "nested"}},
};

void insert(database& session, const stage& on, const std::string& aggregate, const std::string& column,
            const std::string& value) {
  session.exec(fmt::format("INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, {})"
                           " VALUES ('order', $1, $2, '{{}}', {})",
                           column, value),
               {aggregate, on.key()});
}

}  // namespace

TEST_CASE("an event that cannot be encoded is dead with the reason and stops nobody") {
  const stage on;
  auto session = on.connect();
  for (const auto& bad : bad_events) {
    insert(session, on, bad.name, "headers", R"('{"place": "before"}')");
    insert(session, on, bad.name, bad.column, bad.value);
    insert(session, on, bad.name, "headers", R"('{"place": "behind"}')");
  }
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, routing_key)"
      " VALUES ('order', 'long type', repeat('t', 256), '{}', $1)",
      {on.key()});
  relay running{on};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 2 * bad_events.size());
  CHECK(report.dead == bad_events.size() + 1);
  for (const auto& bad : bad_events) {
    const auto row = session.exec(
        "SELECT attempts, published_at, last_error FROM outbox.event WHERE status = 'dead' AND aggregate_id "
        "= $1",
        {bad.name});
    REQUIRE_MESSAGE(row.size() == 1, bad.name);
    CHECK(row[0][0] == "1");
    CHECK_FALSE(row[0][1].has_value());
    for (const auto& words : bad.reason)
      CHECK_MESSAGE(row[0][2].value_or("").find(words) != std::string::npos, bad.name, ": ", *row[0][2]);
  }
  const auto type = session.value("SELECT last_error FROM outbox.event WHERE aggregate_id = 'long type'");
  CHECK_MESSAGE(type.starts_with("event type is 256 bytes long"), type);
  running.stop();
}

TEST_CASE("names just within AMQP's limits go through") {
  const stage on;
  auto session = on.connect();
  insert(session, on, "header name of 255 bytes", "headers", "jsonb_build_object(repeat('n', 255), 1)");
  insert(session, on, "headers near a frame", "headers", "jsonb_build_object('big', repeat('b', 130000))");
  insert(session, on, "routing key of 255 bytes", "routing_key",
         fmt::format("rpad('{}.', 255, 'k')", on.queue()));
  relay running{on};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 3);
  running.stop();
}

TEST_CASE("bodies at the edges of a frame and of several megabytes arrive whole") {
  const stage on{{.payload = "text"}};
  auto session = on.connect();
  for (const int size : {0, 1, largest_body_frame - 1, largest_body_frame, largest_body_frame + 1,
                         2 * largest_body_frame, 2 * largest_body_frame + 1, 5'000'000, 20'000'000}) {
    session.exec(
        "SELECT outbox.emit('order', size::text, $2, left(repeat('0123456789', size / 10 + 1), size))"
        " FROM (SELECT $1::int AS size) AS body",
        {std::to_string(size), on.key()});
  }
  relay running{on};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 9);
  running.stop();
}

}  // namespace outboxd::test

// core_to_message_test: the message that the contract promises for an event.
#include <doctest/doctest.h>

#include "core/iso8601.hpp"
#include "core/to_message.hpp"

namespace core_to_message_test {

using namespace outboxd;
using namespace std::chrono_literals;

namespace {

event sample() {
  event one;
  for (std::uint8_t i = 0; i < 16; ++i) one.id.bytes[i] = static_cast<std::uint8_t>(i * 0x11U);
  one.seq = 42;
  one.aggregate_type = "order";
  one.aggregate_id = "7";
  one.event_type = "order.created";
  one.payload = R"({"a":1})";
  one.headers = R"({"tenant":"x"})";
  one.created_at = timestamp(std::chrono::sys_days(std::chrono::year{2026} / 1 / 31) + 8h + 15min + 42us);
  return one;
}

}  // namespace

TEST_CASE("every field of the event has its place in the message") {
  const routing to;
  const event from = sample();
  const message m = to_message(from, payload_type::jsonb, to);
  CHECK(m.exchange == "outbox");
  CHECK(m.routing_key == "order.created");
  CHECK(m.message_id == "00112233-4455-6677-8899-aabbccddeeff");
  CHECK(m.type == "order.created");
  CHECK(m.timestamp == 1'769'847'300);
  CHECK(m.aggregate_type == "order");
  CHECK(m.aggregate_id == "7");
  CHECK(m.seq == 42);
  CHECK(m.occurred_at == "2026-01-31T08:15:00.000042Z");
  CHECK(m.headers == R"({"tenant":"x"})");
  CHECK(m.body == R"({"a":1})");
}

TEST_CASE("the row's own exchange and routing key go before the route's, even when they are empty") {
  const routing to{.exchange = "elsewhere"};
  event from = sample();
  CHECK(to_message(from, payload_type::jsonb, to).exchange == "elsewhere");
  from.exchange = "own";
  from.routing_key = "own.key";
  CHECK(to_message(from, payload_type::jsonb, to).exchange == "own");
  CHECK(to_message(from, payload_type::jsonb, to).routing_key == "own.key");
  from.exchange = "";
  from.routing_key = "";
  CHECK(to_message(from, payload_type::jsonb, to).exchange == "");
  CHECK(to_message(from, payload_type::jsonb, to).routing_key == "");
}

TEST_CASE("the content type follows the payload's type") {
  const event from = sample();
  CHECK(to_message(from, payload_type::jsonb, {}).content_type == "application/json");
  CHECK(to_message(from, payload_type::json, {}).content_type == "application/json");
  CHECK(to_message(from, payload_type::text, {}).content_type == "text/plain");
  CHECK(to_message(from, payload_type::bytea, {}).content_type == "application/octet-stream");
}

TEST_CASE("the timestamp is rounded down to seconds, and left out before 1970 and after 9999") {
  event from = sample();
  from.created_at = timestamp(1'999'999us);
  CHECK(to_message(from, payload_type::json, {}).timestamp == 1);
  from.created_at = timestamp(-1us);
  CHECK_FALSE(to_message(from, payload_type::json, {}).timestamp);
  CHECK(to_message(from, payload_type::json, {}).occurred_at == "1969-12-31T23:59:59.999999Z");
  const auto end = timestamp(std::chrono::sys_days(std::chrono::year{10'000} / 1 / 1));
  from.created_at = end - 1us;
  CHECK(to_message(from, payload_type::json, {}).timestamp == 253'402'300'799);
  for (const timestamp at : {end, timestamp::max(), timestamp::min()}) {
    from.created_at = at;
    CHECK_FALSE(to_message(from, payload_type::json, {}).timestamp);
  }
}

TEST_CASE("times are written in ISO 8601 with six digits, also at the edges of days and leap years") {
  const auto on = [](int year, unsigned month, unsigned day) {
    return std::chrono::sys_days(std::chrono::year{year} / static_cast<int>(month) / static_cast<int>(day));
  };
  CHECK(to_iso8601(timestamp(0us)) == "1970-01-01T00:00:00.000000Z");
  CHECK(to_iso8601(on(2024, 2, 29) + 23h + 59min + 59s + 999'999us) == "2024-02-29T23:59:59.999999Z");
  CHECK(to_iso8601(timestamp(on(2024, 3, 1))) == "2024-03-01T00:00:00.000000Z");
  CHECK(to_iso8601(timestamp(on(9999, 12, 31))) == "9999-12-31T00:00:00.000000Z");
  CHECK(to_iso8601(on(12345, 6, 7) + 8h + 9min + 10s + 11us) == "12345-06-07T08:09:10.000011Z");
  CHECK(to_iso8601(timestamp(on(-44, 3, 15))) == "-044-03-15T00:00:00.000000Z");
}

TEST_CASE("an id is written as 8-4-4-4-12 lower-case hexadecimal digits") {
  event_id id;
  CHECK(to_string(id) == "00000000-0000-0000-0000-000000000000");
  id.bytes.fill(0xAB);
  CHECK(to_string(id) == "abababab-abab-abab-abab-abababababab");
}

}  // namespace core_to_message_test

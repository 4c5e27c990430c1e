// amqp_publish_encoder_test: the contract's message on the wire, and the edges of what fits.
#include <doctest/doctest.h>

#include <string>

#include "amqp/publish_encoder.hpp"
#include "amqp_wire.hpp"

namespace amqp_publish_encoder_test {

using namespace outboxd::amqp;

namespace {

outboxd::message sample() {
  outboxd::message m;
  m.exchange = "outbox";
  m.routing_key = "order.created";
  m.message_id = "0b0c7d5e-0000-4000-8000-000000000001";
  m.type = "order.created";
  m.content_type = "application/json";
  m.timestamp = 1'700'000'000;
  m.aggregate_type = "order";
  m.aggregate_id = "42";
  m.seq = 7;
  m.occurred_at = "2023-11-14T22:13:20.000000Z";
  m.headers = R"({"tenant":"t1"})";
  m.body = R"({"id":1})";
  return m;
}

// The bytes, or the error with a check that nothing was appended.
std::string encode(const outboxd::message& m, std::uint32_t frame_max = 131072) {
  publish_encoder encoder(1, frame_max);
  std::string out = "before";
  const auto ok = encoder.append(m, out);
  if (ok) return out.substr(6);
  CHECK(ok.error().kind == outboxd::fault::permanent);
  CHECK(out == "before");
  return "error: " + ok.error().message;
}

bool refused(const std::string& answer) {
  return answer.starts_with("error: ");
}
bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a message is a publish, a content header and a body as the contract says") {
  const auto frames = wire::frames(encode(sample()));
  REQUIRE(frames.size() == 3);
  for (const auto& f : frames) CHECK(f.channel == 1);

  CHECK(frames[0].type == 1);
  CHECK(frames[0].name() == "60.40");
  CHECK(frames[0].payload.substr(4) == wire::u16(0) + wire::short_string("outbox") +
                                           wire::short_string("order.created") + wire::u8(1));  // mandatory

  CHECK(frames[1].type == 2);
  wire::reader header(frames[1].payload);
  CHECK(header.number(2) == 60);
  CHECK(header.number(2) == 0);
  CHECK(header.number(8) == 8);
  CHECK(header.number(2) == 0xB0E8);  // content_type headers delivery_mode message_id timestamp type app_id
  CHECK(header.short_string() == "application/json");
  CHECK(wire::table_text(header.long_string()) ==
        "{aggregate_type:S\"order\",aggregate_id:S\"42\",seq:l7,occurred_at:S\"2023-11-14T22:13:20.000000Z\","
        "tenant:S\"t1\"}");
  CHECK(header.number(1) == 2);
  CHECK(header.short_string() == "0b0c7d5e-0000-4000-8000-000000000001");
  CHECK(header.number(8) == 1'700'000'000);
  CHECK(header.short_string() == "order.created");
  CHECK(header.short_string() == "outboxd");
  CHECK(header.empty());

  CHECK(frames[2].type == 3);
  CHECK(frames[2].payload == R"({"id":1})");
}

TEST_CASE("a body is split at frame_max - 8, and an empty one has no body frame") {
  constexpr std::size_t room = 4096 - 8;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, room - 1, room, room + 1, 2 * room - 1, 2 * room, 2 * room + 1}) {
    CAPTURE(size);
    auto m = sample();
    const std::string body(size, 'b');
    m.body = body;
    const auto frames = wire::frames(encode(m, 4096));
    REQUIRE(frames.size() == 2 + (size + room - 1) / room);
    CHECK(wire::reader(frames[1].payload.substr(4)).number(8) == size);
    std::string joined;
    for (std::size_t i = 2; i < frames.size(); ++i) {
      CHECK(frames[i].type == 3);
      CHECK(frames[i].payload.size() <= room);
      joined += frames[i].payload;
    }
    CHECK(joined == body);
  }
}

TEST_CASE("texts of 255 bytes pass and of 256 are refused by name and limit, not by value") {
  const std::string most(255, 'x');
  const std::string over(256, 'x');
  std::string wide(254, 'x');
  wide += "\xC3\xA9";  // 255 characters, 256 bytes
  const auto with = [](auto member, const std::string& text) {
    auto m = sample();
    m.*member = text;
    return encode(m);
  };
  const auto check = [&](auto member, std::string_view name) {
    CHECK_FALSE(refused(with(member, most)));
    CHECK_FALSE(refused(with(member, "")));
    for (const auto& text : {over, wide, std::string(512, 'x')}) {
      const auto answer = with(member, text);
      CHECK(answer == "error: " + std::string(name) + " is " + std::to_string(text.size()) +
                          " bytes long; AMQP allows 255");
    }
  };
  check(&outboxd::message::exchange, "exchange");
  check(&outboxd::message::routing_key, "routing key");
  check(&outboxd::message::type, "event type");
  check(&outboxd::message::content_type, "content type");
  check(&outboxd::message::message_id, "message id");
}

TEST_CASE("a content header of exactly frame_max passes and one byte more is refused") {
  for (const std::uint32_t frame_max : {4096U, 131072U}) {
    auto m = sample();
    std::string headers = R"({"h":"x"})";
    m.headers = headers;
    const std::size_t base = wire::frames(encode(m, frame_max))[1].payload.size() - 1;
    headers = R"({"h":")" + std::string(frame_max - 8 - base, 'x') + R"("})";
    m.headers = headers;
    const auto fits = encode(m, frame_max);
    REQUIRE_FALSE(refused(fits));
    CHECK(wire::frames(fits)[1].payload.size() == frame_max - 8);
    headers.insert(7, "x");
    m.headers = headers;
    CHECK(has(encode(m, frame_max), "fit one frame"));
  }
}

TEST_CASE("an aggregate id too large for a frame is refused") {
  auto m = sample();
  const std::string id(5000, 'x');
  m.aggregate_id = id;
  m.headers = "{}";
  CHECK(has(encode(m, 4096), "fit one frame"));
  CHECK_FALSE(refused(encode(m, 131072)));
}

TEST_CASE("messages follow each other in one buffer, and a refused one between them leaves no trace") {
  publish_encoder encoder(1, 4096);
  std::string out;
  const std::string long_key(256, 'x');
  auto bad = sample();
  bad.routing_key = long_key;
  REQUIRE(encoder.append(sample(), out).has_value());
  REQUIRE_FALSE(encoder.append(bad, out).has_value());
  bad = sample();
  bad.headers = R"({"a":1e400})";
  REQUIRE_FALSE(encoder.append(bad, out).has_value());
  REQUIRE(encoder.append(sample(), out).has_value());
  CHECK(out == encode(sample()) + encode(sample()));
}

}  // namespace amqp_publish_encoder_test

// amqp_frame_test: the frame parser against streams cut and damaged anywhere.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "amqp/frame.hpp"
#include "amqp_wire.hpp"

namespace amqp_frame_test {

using namespace outboxd::amqp;

namespace {

void feed(frame_parser& parser, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto room = parser.prepare();
    REQUIRE(room.size() > 0);
    const auto n = std::min(room.size(), bytes.size());
    std::copy_n(bytes.begin(), n, room.begin());
    parser.commit(n);
    bytes.remove_prefix(n);
  }
}

// Every frame that the parser has, as "type/channel/payload;", or the error.
std::string drain(frame_parser& parser) {
  std::string out;
  for (;;) {
    const auto f = parser.next();
    if (!f) return out + "error: " + f.error().message;
    if (!*f) return out;
    out += std::to_string(static_cast<int>((*f)->type)) + "/" + std::to_string((*f)->channel) + "/" +
           std::string((*f)->payload) + ";";
  }
}

const std::string three = wire::frame(1, 7, "method") + wire::frame(8, 0, "") + wire::frame(3, 65535, "body");

}  // namespace

TEST_CASE("an encoded frame is the header, the payload and 0xCE") {
  std::string out = "before";
  append_frame(out, frame_type::body, 258, "abc");
  CHECK(out == "before" + wire::frame(3, 258, "abc"));
}

TEST_CASE("frames come out whole wherever the stream is cut") {
  for (std::size_t cut = 0; cut <= three.size(); ++cut) {
    frame_parser parser(frame_min_size);
    feed(parser, std::string_view(three).substr(0, cut));
    std::string seen = drain(parser);
    feed(parser, std::string_view(three).substr(cut));
    seen += drain(parser);
    CHECK(seen == "1/7/method;8/0/;3/65535/body;");
    CHECK(parser.unread().empty());
  }
}

TEST_CASE("frames come out of a stream that arrives byte by byte") {
  frame_parser parser(frame_min_size);
  std::string seen;
  for (const char c : three) {
    feed(parser, {&c, 1});
    seen += drain(parser);
  }
  CHECK(seen == "1/7/method;8/0/;3/65535/body;");
}

TEST_CASE("a frame of exactly frame_max passes and one byte more is refused before its payload has come") {
  const std::string most(frame_min_size - frame_overhead, 'x');
  frame_parser parser(frame_min_size);
  feed(parser, wire::frame(3, 1, most));
  CHECK(drain(parser) == "3/1/" + most + ";");
  feed(parser, wire::u8(3) + wire::u16(1) + wire::u32(most.size() + 1));
  CHECK(drain(parser).find("frame_max 4096") != std::string::npos);
}

TEST_CASE("a declared length of 4 GB is refused") {
  for (const std::uint64_t length : {0xFFFFFFFFULL, 0x80000000ULL, 0xFFFFFFF8ULL}) {
    frame_parser parser(frame_max_own);
    feed(parser, wire::u8(1) + wire::u16(0) + wire::u32(length));
    CHECK(drain(parser).starts_with("error: "));
  }
}

TEST_CASE("a frame that does not end with 0xCE is refused") {
  std::string bytes = wire::frame(1, 0, "x");
  bytes.back() = '\xCF';
  frame_parser parser(frame_min_size);
  feed(parser, bytes);
  CHECK(drain(parser).find("0xCE") != std::string::npos);
}

TEST_CASE("an unknown frame type is refused at its first byte") {
  for (int type = 0; type < 256; ++type) {
    if (type == 1 || type == 2 || type == 3 || type == 8) continue;
    frame_parser parser(frame_min_size);
    feed(parser, wire::u8(static_cast<std::uint64_t>(type)));
    CHECK(drain(parser).find("type " + std::to_string(type)) != std::string::npos);
  }
}

TEST_CASE("the parser's buffer stays bounded however much passes through it") {
  frame_parser parser(frame_max_own);
  const std::string big = wire::frame(3, 1, std::string(frame_max_own - frame_overhead, 'x'));
  std::size_t largest = 0;
  for (int i = 0; i < 50; ++i) {
    std::string_view rest = big;
    while (!rest.empty()) {
      const auto room = parser.prepare();
      largest = std::max(largest, room.size() + parser.unread().size());
      const auto n = std::min({room.size(), rest.size(), std::size_t{1000}});
      std::copy_n(rest.begin(), n, room.begin());
      parser.commit(n);
      rest.remove_prefix(n);
      while (const auto f = parser.next().value()) CHECK(f->payload.size() == big.size() - frame_overhead);
    }
  }
  CHECK(largest <= frame_max_own + 2 * 64 * 1024);
}

}  // namespace amqp_frame_test

// amqp_session_test: scripts of a broker's frames on a channel in confirm mode.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "amqp/session.hpp"
#include "amqp_wire.hpp"

namespace amqp_session_test {

using namespace outboxd::amqp;

namespace {

struct script {
  session line{{.channel = 1, .frame_max = frame_min_size, .declare_exchanges = {"outbox"}, .limits = {}}};
  frame_parser parser{frame_min_size};
  session::news news;
  std::string reply;

  explicit script(int publishes) {
    for (int n = 1; n <= publishes; ++n) publish(n);
  }
  void publish(int n) {
    outboxd::message m;
    m.message_id = "m" + std::to_string(n);
    m.headers = "{}";
    std::string out;
    REQUIRE(line.publish(static_cast<token>(n), m, out).has_value());
  }
  // Feeds the bytes and tells what they brought: "1+ 2- 3(312 NO_ROUTE) blocked(x) unblocked closed error:
  // ..."
  std::string feed(std::string_view bytes) {
    std::string problem;
    for (const char c : bytes) {
      parser.prepare()[0] = c;
      parser.commit(1);
      const auto f = parser.next();
      REQUIRE(f.has_value());
      if (!*f) continue;
      if (const auto ok = line.receive(**f, news, reply); !ok) {
        CHECK(ok.error().kind == outboxd::fault::transient);
        problem = "error: " + ok.error().message;
        break;
      }
    }
    std::string out;
    for (const auto& o : news.outcomes)
      out += std::to_string(o.id) + (o.what == verdict::acked    ? "+ "
                                     : o.what == verdict::nacked ? "- "
                                                                 : "(" + o.reason + ") ");
    if (!news.unknown.empty()) {
      out += "unknown";
      for (const token one : news.unknown) out += " " + std::to_string(one);
      out += " (" + news.refused.reason + ") ";
    }
    for (const auto& b : news.blocked) out += b ? "blocked(" + *b + ") " : "unblocked ";
    if (news.secret_updated) out += "updated ";
    if (news.closed) out += "closed ";
    news.clear();
    out += problem;
    return out;
  }
};

// The methods of a reply, which is then forgotten.
std::string names(std::string& reply) {
  std::string out;
  for (const auto& one : wire::frames(reply)) out += (out.empty() ? "" : " ") + one.name();
  reply.clear();
  return out;
}

bool refused(const std::string& answer) {
  return answer.find("error: ") != std::string::npos;
}

}  // namespace

TEST_CASE("acks and nacks become outcomes of the publishes that they count") {
  script s(4);
  CHECK(s.feed(wire::ack(1) + wire::nack(2) + wire::ack(4, true)) == "1+ 2- 3+ 4+ ");
  CHECK(s.line.unconfirmed() == 0);
}

TEST_CASE("a returned message is told by its message id, with a body in any number of frames or none") {
  const std::string end = wire::ack(3, true);
  const std::string said = wire::returned(312, "NO_ROUTE");
  script none(3);
  CHECK(none.feed(said + wire::content_header("m2", 0) + end) == "1+ 2(312 NO_ROUTE) 3+ ");
  script one(3);
  CHECK(one.feed(said + wire::content_header("m2", 5) + wire::frame(3, 1, "hello") + end) ==
        "1+ 2(312 NO_ROUTE) 3+ ");
  script two(3);
  CHECK(two.feed(said + wire::content_header("m2", 5) + wire::frame(3, 1, "hel") + wire::heartbeat() +
                 wire::blocked("x") + wire::frame(3, 1, "lo") + end) == "1+ 2(312 NO_ROUTE) 3+ blocked(x) ");
}

TEST_CASE("a returned message in disorder is a protocol error, at every step") {
  const std::string said = wire::returned(312, "NO_ROUTE");
  CHECK(refused(script(1).feed(wire::content_header("m1", 0))));
  CHECK(refused(script(1).feed(wire::frame(3, 1, "x"))));
  CHECK(refused(script(1).feed(said + wire::ack(1))));
  CHECK(refused(script(1).feed(said + wire::frame(3, 1, "x"))));
  CHECK(refused(script(1).feed(said + wire::content_header("m1", 2) + wire::content_header("m1", 2))));
  CHECK(refused(script(1).feed(said + wire::content_header("m1", 2) + wire::frame(3, 1, "xyz"))));
  CHECK(refused(script(1).feed(said + wire::content_header("m1", 2) + wire::ack(1))));
  CHECK(refused(script(1).feed(said + wire::content_header("unknown", 0))));
  CHECK(refused(script(1).feed(said + wire::frame(2, 1, ""))));
  CHECK(refused(script(1).feed(wire::frame(3, 0, "x"))));
}

TEST_CASE("a content header cut anywhere is a protocol error") {
  const std::string whole = wire::frames(wire::content_header("m1", 0))[0].payload;
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    script s(1);
    CHECK(refused(s.feed(wire::returned(312, "NO_ROUTE") + wire::frame(2, 1, whole.substr(0, cut)))));
  }
  script s(1);
  CHECK_FALSE(refused(s.feed(wire::returned(312, "NO_ROUTE") + wire::frame(2, 1, whole))));
}

TEST_CASE("a content header with a second word of flags is a protocol error") {
  std::string header = wire::frames(wire::content_header("m1", 0))[0].payload;
  header[13] = static_cast<char>(header[13] | 1);  // the continuation bit, section 4.2.6.1
  script s(1);
  CHECK(refused(s.feed(wire::returned(312, "NO_ROUTE") + wire::frame(2, 1, header))));
}

TEST_CASE(
    "a channel that the broker closed over a message is opened again, and what was in flight is unknown") {
  for (const int code : {311, 403, 404, 406}) {
    script channel(3);
    CHECK(
        channel.feed(wire::ack(1) + wire::channel_close(static_cast<std::uint64_t>(code), "SOME - reason")) ==
        "1+ unknown 2 3 (" + std::to_string(code) + " SOME - reason) ");
    CHECK_FALSE(channel.line.open());
    CHECK(channel.line.unconfirmed() == 0);
    CHECK(names(channel.reply) == "20.41 20.10");  // close-ok, open
    CHECK(channel.feed(wire::channel_open_ok()) == "");
    CHECK(names(channel.reply) == "85.10");
    CHECK(channel.feed(wire::select_ok()) == "");
    CHECK(names(channel.reply) == "40.10");  // the exchange may be what is missing
    CHECK_FALSE(channel.line.open());
    CHECK(channel.feed(wire::declare_ok()) == "");
    CHECK(channel.line.open());
    // Delivery tags begin anew.
    channel.publish(7);
    CHECK(channel.feed(wire::ack(1)) == "7+ ");
  }
}

TEST_CASE("the channel is closed again and again, and opened again each time") {
  script channel(0);
  for (int i = 0; i < 3; ++i) {
    channel.publish(i);
    CHECK(channel.feed(wire::channel_close(404, "x")) == "unknown " + std::to_string(i) + " (404 x) ");
    channel.feed(wire::channel_open_ok() + wire::select_ok() + wire::declare_ok());
    CHECK(channel.line.open());
  }
}

TEST_CASE(
    "a channel error about no message, or while the channel is being opened again, ends the connection") {
  CHECK(script(1).feed(wire::channel_close(541, "INTERNAL_ERROR")) ==
        "error: the broker closed the channel: 541 INTERNAL_ERROR");
  for (const auto& until :
       {std::string(), wire::channel_open_ok(), wire::channel_open_ok() + wire::select_ok()}) {
    script channel(1);
    channel.feed(wire::channel_close(404, "x") + until);
    CHECK(channel.feed(wire::channel_close(403, "ACCESS_REFUSED")) ==
          "error: the broker closed the channel: 403 ACCESS_REFUSED");
  }
}

TEST_CASE("while the channel is being opened again confirms and wrong answers are protocol errors") {
  for (const auto& wrong : {wire::ack(1), wire::nack(1), wire::select_ok(), wire::declare_ok()}) {
    script channel(1);
    channel.feed(wire::channel_close(404, "x"));
    CHECK(refused(channel.feed(wrong)));
  }
}

TEST_CASE("a connection's close is answered and named") {
  script connection(1);
  CHECK(
      connection.feed(wire::connection_close(320, "CONNECTION_FORCED - broker forced\nconnection closure")) ==
      "error: the broker closed the connection: 320 CONNECTION_FORCED - broker forced?connection closure");
  CHECK(wire::frames(connection.reply).at(0).name() == "10.51");
}

TEST_CASE("blocked and unblocked are told in order") {
  script s(0);
  CHECK(s.feed(wire::blocked("low on memory") + wire::unblocked() + wire::blocked("low on disk")) ==
        "blocked(low on memory) unblocked blocked(low on disk) ");
}

TEST_CASE(
    "a new password goes out on channel 0, also while the channel is opened again, and is confirmed once") {
  script s(1);
  s.feed(wire::channel_close(404, "x"));
  std::string out;
  REQUIRE(s.line.update_secret("the next token", out).has_value());
  const auto sent = wire::frames(out);
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].channel == 0);
  CHECK(sent[0].name() == "10.70");
  wire::reader fields(std::string_view(sent[0].payload).substr(4));
  CHECK(fields.long_string() == "the next token");
  CHECK_FALSE(fields.short_string().empty());
  CHECK(fields.empty());
  CHECK(s.feed(wire::update_secret_ok()) == "updated ");
  CHECK(s.feed("") == "");
  CHECK(refused(s.feed(wire::update_secret_ok())));
}

TEST_CASE("a password that no frame holds is not sent") {
  script s(0);
  std::string out;
  CHECK_FALSE(s.line.update_secret(std::string(10'000, 'x'), out).has_value());
  CHECK(out.empty());
  CHECK(refused(s.feed(wire::update_secret_ok())));
}

TEST_CASE("a close of ours ends with the broker's close-ok, and outcomes still come before it") {
  script s(1);
  std::string out;
  s.line.close(out);
  CHECK(wire::frames(out).at(0).name() == "10.50");
  CHECK(s.feed(wire::ack(1) + wire::method(0, 10, 51)) == "1+ closed ");
}

TEST_CASE("what a publisher does not expect is a protocol error and no crash") {
  CHECK(refused(script(1).feed(wire::method(0, 10, 51))));               // close-ok without a close
  CHECK(refused(script(1).feed(wire::start())));                         // a second greeting
  CHECK(refused(script(1).feed(wire::method(1, 60, 60))));               // basic.deliver
  CHECK(refused(script(1).feed(wire::method(1, 20, 20, wire::u8(0)))));  // channel.flow
  CHECK(refused(script(1).feed(wire::method(1, 999, 999))));
  CHECK(refused(script(1).feed(wire::method(0, 60, 80, wire::u64(1) + wire::u8(0)))));  // an ack on channel 0
  CHECK(refused(script(1).feed(wire::method(2, 60, 80, wire::u64(1) + wire::u8(0)))));  // and on channel 2
  CHECK(refused(script(1).feed(wire::method(1, 10, 60, wire::short_string("x")))));  // blocked on channel 1
  CHECK(refused(script(1).feed(wire::ack(2))));
  CHECK(refused(script(1).feed(wire::frame(1, 1, "abc"))));
}

// A second greeting may be as large as any frame, and its table nested as deep as that: some megabytes of
// stack.
TEST_CASE("a late greeting with a deeply nested table is refused before it is decoded") {
  std::string nested = wire::short_string("");
  for (std::size_t left = 100'000; left > 5; left -= 5) nested += "A" + wire::u32(left - 5);
  const auto late = wire::method(0, 10, 10,
                                 wire::u8(0) + wire::u8(9) + wire::long_string(nested) +
                                     wire::long_string("PLAIN") + wire::long_string("en_US"));
  codec decoder;
  const auto answer = decoder.decode(wire::frames(late).at(0).payload);
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().message.find("greeting") != std::string::npos);
}

TEST_CASE("a method cut anywhere is a protocol error and no crash") {
  for (const std::string& whole :
       {wire::ack(1), wire::nack(1), wire::returned(312, "NO_ROUTE"), wire::channel_close(541, "x"),
        wire::connection_close(320, "x"), wire::blocked("x")}) {
    const auto f = wire::frames(whole).at(0);
    for (std::size_t cut = 0; cut < f.payload.size(); ++cut)
      CHECK(refused(script(1).feed(wire::frame(1, f.channel, f.payload.substr(0, cut)))));
  }
}

}  // namespace amqp_session_test

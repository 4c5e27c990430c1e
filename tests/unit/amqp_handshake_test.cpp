// amqp_handshake_test: scripts of a broker's greeting, every step failed once.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "amqp/handshake.hpp"
#include "amqp_wire.hpp"

namespace amqp_handshake_test {

using namespace outboxd::amqp;
using namespace std::chrono_literals;
using outboxd::fault;

namespace {

handshake_settings settings(bool declare = true) {
  handshake_settings s;
  s.target = parse_url("amqp://relay:canary@broker.example/shop").value();
  s.connection_name = "outboxd lane 1";
  if (declare) s.declare_exchanges = {"outbox"};
  return s;
}

struct script {
  handshake shake;
  frame_parser parser{frame_max_untuned};
  explicit script(handshake_settings s = settings()) : shake(std::move(s)) {}

  // "more", "done" or the error with its kind; fed byte by byte, as the worst network would.
  std::string feed(std::string_view bytes) {
    std::string answer = "more";
    for (std::size_t i = 0; i < bytes.size() && answer == "more"; ++i) {
      parser.prepare()[0] = bytes[i];
      parser.commit(1);
      const auto done = shake.receive(parser);
      answer = !done ? (done.error().kind == fault::permanent ? "permanent: " : "transient: ") +
                           done.error().message
               : *done ? "done"
                       : "more";
    }
    if (answer.find("canary") != std::string::npos) FAIL("the password is in an error");
    return answer;
  }
  // What the handshake sent since the last call.
  std::vector<wire::seen> sent() {
    std::string out;
    std::swap(out, shake.output());
    if (out.starts_with("AMQP")) {
      CHECK(out.substr(0, 8) == std::string("AMQP\0\0\x09\x01", 8));
      out.erase(0, 8);
    }
    return wire::frames(out);
  }
};

// A broker's answers in order, and whose word each is the answer to.
const std::vector<std::string> happy = {wire::start(),           wire::tune(),      wire::open_ok(),
                                        wire::channel_open_ok(), wire::select_ok(), wire::declare_ok(),
                                        wire::declare_ok()};

// The answer to the first `steps` steps and then `last`.
std::string after(std::size_t steps, const std::string& last, bool declare = true) {
  script s(settings(declare));
  for (std::size_t i = 0; i < steps; ++i) REQUIRE(s.feed(happy[i]) == "more");
  return s.feed(last);
}

std::string declare_outbox(std::uint8_t bits) {
  return wire::u16(0) + wire::short_string("outbox") + wire::short_string("topic") + wire::u8(bits) +
         wire::long_string("");
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the handshake opens a channel in confirm mode and declares the exchange, step by step") {
  script s;
  CHECK(s.sent().empty());  // the protocol header only

  CHECK(s.feed(wire::start()) == "more");
  auto out = s.sent();
  REQUIRE(out.size() == 1);
  CHECK(out[0].name() == "10.11");
  CHECK(out[0].channel == 0);
  wire::reader start_ok(out[0].payload.substr(4));
  CHECK(wire::table_text(start_ok.long_string()) ==
        "{product:S\"outboxd\",version:S\"0.1.0\",platform:S\"C++\",connection_name:S\"outboxd lane 1\","
        "capabilities:F{publisher_confirms:t1,basic.nack:t1,connection.blocked:t1,consumer_cancel_notify:t1,"
        "authentication_failure_close:t1}}");
  CHECK(start_ok.short_string() == "PLAIN");
  CHECK(start_ok.long_string() == std::string("\0relay\0canary", 13));
  CHECK(start_ok.short_string() == "en_US");

  CHECK(s.feed(wire::tune(2047, 131072, 60)) == "more");
  out = s.sent();
  REQUIRE(out.size() == 2);
  CHECK(out[0].name() == "10.31");
  CHECK(out[0].payload.substr(4) == wire::u16(1) + wire::u32(131072) + wire::u16(10));
  CHECK(out[1].name() == "10.40");
  CHECK(out[1].payload.substr(4) == wire::short_string("shop") + wire::short_string("") + wire::u8(0));

  CHECK(s.feed(wire::open_ok()) == "more");
  out = s.sent();
  REQUIRE(out.size() == 1);
  CHECK(out[0].name() == "20.10");
  CHECK(out[0].channel == 1);

  CHECK(s.feed(wire::channel_open_ok()) == "more");
  out = s.sent();
  REQUIRE(out.size() == 1);
  CHECK(out[0].name() == "85.10");
  CHECK(out[0].payload.substr(4) == wire::u8(0));

  CHECK(s.feed(wire::select_ok()) == "more");
  out = s.sent();
  REQUIRE(out.size() == 1);
  CHECK(out[0].name() == "40.10");
  CHECK(out[0].payload.substr(4) == declare_outbox(3));  // durable, passive

  CHECK(s.feed(wire::declare_ok()) == "more");
  out = s.sent();
  REQUIRE(out.size() == 1);
  CHECK(out[0].name() == "40.10");
  CHECK(out[0].payload.substr(4) == declare_outbox(2));  // durable
  CHECK(s.feed(wire::declare_ok()) == "done");
  CHECK(s.sent().empty());
  CHECK(s.shake.tuned().heartbeat == 10s);
  CHECK(s.shake.created().empty());
}

TEST_CASE("an exchange that is not there is declared on a new channel, and remembered as new") {
  script s;
  for (std::size_t i = 0; i < 5; ++i) REQUIRE(s.feed(happy[i]) == "more");
  s.sent();
  CHECK(s.feed(wire::channel_close(404, "NOT_FOUND - no exchange 'outbox' in vhost 'shop'")) == "more");
  auto out = s.sent();
  REQUIRE(out.size() == 2);
  CHECK(out[0].name() == "20.41");  // close-ok
  CHECK(out[1].name() == "20.10");
  CHECK(s.feed(wire::channel_open_ok()) == "more");
  CHECK(s.feed(wire::select_ok()) == "more");
  out = s.sent();
  REQUIRE(out.size() == 2);
  CHECK(out[1].payload.substr(4) == declare_outbox(2));
  CHECK(s.shake.created().empty());
  CHECK(s.feed(wire::declare_ok()) == "done");
  CHECK(s.shake.created() == std::vector<std::string>{"outbox"});
}

TEST_CASE("of several exchanges each is looked for") {
  auto two = settings();
  two.declare_exchanges = {"outbox", "dead"};
  script s(two);
  for (std::size_t i = 0; i < 5; ++i) REQUIRE(s.feed(happy[i]) == "more");
  const std::string missing = wire::channel_close(404, "NOT_FOUND");
  const std::string again = wire::channel_open_ok() + wire::select_ok() + wire::declare_ok();
  CHECK(s.feed(missing + again + missing + again) == "done");
  CHECK(s.shake.created() == std::vector<std::string>{"outbox", "dead"});
}

TEST_CASE("without an exchange to declare the handshake ends with confirm mode") {
  CHECK(after(4, wire::select_ok(), false) == "done");
}

TEST_CASE("what comes behind the last answer stays for the session") {
  script s(settings(false));
  for (std::size_t i = 0; i < 4; ++i) REQUIRE(s.feed(happy[i]) == "more");
  const std::string both = wire::select_ok() + wire::blocked("x");
  std::copy(both.begin(), both.end(), s.parser.prepare().begin());
  s.parser.commit(both.size());
  CHECK(s.shake.receive(s.parser).value());
  CHECK(s.parser.unread() == wire::blocked("x"));
}

TEST_CASE("tune takes the lower of both sides, and 0 means no limit of that side") {
  const auto tuned = [](tuning broker, std::chrono::seconds heartbeat = 10s) {
    auto ours = settings();
    ours.heartbeat = heartbeat;
    return negotiate(broker, ours);
  };
  CHECK(tuned({2047, 131072, 60s})->channel_max == 1);
  CHECK(tuned({0, 131072, 60s})->channel_max == 1);
  CHECK(tuned({2047, 0, 60s})->frame_max == 131072);
  CHECK(tuned({2047, 4096, 60s})->frame_max == 4096);
  CHECK(tuned({2047, 131071, 60s})->frame_max == 131071);
  CHECK(tuned({2047, 0xFFFFFFFF, 60s})->frame_max == 131072);
  CHECK(tuned({2047, 131072, 5s})->heartbeat == 5s);
  CHECK(tuned({2047, 131072, 60s})->heartbeat == 10s);
  CHECK(tuned({2047, 131072, 0s})->heartbeat == 10s);
  CHECK(tuned({2047, 131072, 60s}, 0s)->heartbeat == 60s);
  CHECK(tuned({2047, 131072, 0s}, 70'000s)->heartbeat == 65'535s);
  CHECK(tuned({2047, 131072, 0s}, 0s)->heartbeat == 0s);
}

TEST_CASE("a frame_max below 4096 is refused") {
  for (const std::uint64_t frame_max : {1, 8, 4095}) {
    const std::string answer = after(1, wire::tune(0, frame_max, 0));
    CHECK(answer.starts_with("permanent: "));
    CHECK(has(answer, "4096"));
  }
  CHECK(after(1, wire::tune(0, 4096, 0)) == "more");
  CHECK(after(1, wire::tune(0, 0, 0)) == "more");
}

TEST_CASE("a wrong password is permanent and says what to check") {
  script s;
  REQUIRE(s.feed(wire::start()) == "more");
  s.sent();
  const std::string answer = s.feed(wire::connection_close(403, "ACCESS_REFUSED - Login was refused"));
  CHECK(answer.starts_with("permanent: connecting to amqp://relay@broker.example:5672/shop: "));
  CHECK(has(answer, "403 ACCESS_REFUSED"));
  CHECK(has(answer, "password"));
  const auto out = s.sent();
  REQUIRE(out.size() == 1);
  CHECK(out[0].name() == "10.51");  // close-ok
}

TEST_CASE("a vhost that is missing or not allowed is permanent and says so") {
  for (const char* limit :
       {"NOT_ALLOWED - access to vhost 'shop' refused for user 'a': connection limit (5) is reached",
        "NOT_ALLOWED - access to vhost 'shop' refused for user 'a': user connection limit (5) is reached"}) {
    const std::string answer = after(2, wire::connection_close(530, limit));
    CHECK_MESSAGE(answer.starts_with("transient: "), answer);
    CHECK(answer.find("raise the limit") != std::string::npos);
  }
  for (const std::uint64_t code : {530, 402}) {
    const std::string answer = after(2, wire::connection_close(code, "NOT_ALLOWED - vhost shop not found"));
    CHECK(answer.starts_with("permanent: "));
    CHECK(has(answer, "check that the vhost exists"));
  }
}

TEST_CASE(
    "an exchange with other properties, or that may not be declared, is permanent and names the way out") {
  const std::string other =
      after(6, wire::channel_close(406, "PRECONDITION_FAILED - inequivalent arg 'type'"));
  CHECK(other.starts_with("permanent: "));
  CHECK(has(other, "exchange \"outbox\""));
  CHECK(has(other, "amqp.declare = false"));
  const std::string forbidden = after(6, wire::channel_close(403, "ACCESS_REFUSED - access to exchange"));
  CHECK(forbidden.starts_with("permanent: "));
  CHECK(has(forbidden, "configure permission"));
  CHECK(has(forbidden, "amqp.declare = false"));
}

TEST_CASE("a broker that stops is transient at every step, and its close is answered") {
  for (std::size_t step = 0; step < happy.size(); ++step) {
    CAPTURE(step);
    const std::string answer = after(step, wire::connection_close(320, "CONNECTION_FORCED - shutdown"));
    CHECK(answer.starts_with("transient: "));
    CHECK(has(answer, "320 CONNECTION_FORCED"));
    CHECK(after(step, wire::connection_close(541, "INTERNAL_ERROR")).starts_with("transient: "));
    CHECK(after(step, wire::channel_close(504, "CHANNEL_ERROR")).starts_with("transient: "));
    CHECK(after(step, wire::connection_close(403, "ACCESS_REFUSED")).starts_with("permanent: "));
    CHECK(after(step, wire::connection_close(404, "NOT_FOUND")).starts_with("permanent: "));
  }
}

TEST_CASE("an answer to something else is a protocol error at every step") {
  for (std::size_t step = 0; step < happy.size(); ++step)
    for (std::size_t other = 0; other < happy.size(); ++other) {
      CAPTURE(step);
      CAPTURE(other);
      if (happy[other] != happy[step]) CHECK(has(after(step, happy[other]), "while waiting for"));
    }
}

TEST_CASE("content, unknown methods and damaged ones are a protocol error at every step") {
  for (std::size_t step = 0; step < happy.size(); ++step) {
    CAPTURE(step);
    if (step > 0) CHECK(after(step, wire::frame(3, 1, "x")).starts_with("transient: "));
    CHECK(after(step, wire::method(0, 999, 1)).starts_with("transient: "));
    const auto f = wire::frames(happy[step]).at(0);
    for (std::size_t cut = 0; cut < f.payload.size(); ++cut)
      CHECK_FALSE(has(after(step, wire::frame(1, f.channel, f.payload.substr(0, cut))), "done"));
  }
}

TEST_CASE("a broker that blocks inside the handshake is remembered, and one that unblocks again forgotten") {
  script s;
  for (std::size_t i = 0; i < 3; ++i) REQUIRE(s.feed(happy[i]) == "more");
  CHECK(s.feed(wire::blocked("low on memory") + wire::heartbeat()) == "more");
  CHECK(s.shake.blocked() == "low on memory");
  CHECK(s.feed(happy[3]) == "more");
  CHECK(s.feed(happy[4]) == "more");
  CHECK(s.feed(happy[5]) == "more");
  CHECK(s.feed(happy[6]) == "done");
  CHECK(s.shake.blocked() == "low on memory");
}

TEST_CASE("a broker without confirms, nacks or passwords is refused for good") {
  CHECK(has(after(0, wire::start(false, true)),
            "permanent: connecting to amqp://relay@broker.example:5672/shop: the "
            "broker lacks publisher_confirms"));
  CHECK(has(after(0, wire::start(true, false)), "the broker lacks basic.nack"));
  CHECK(has(after(0, wire::start(true, true, "EXTERNAL XPLAIN")), "auth_mechanisms"));
  CHECK(after(0, wire::start(true, true, "PLAIN")) == "more");
  CHECK(after(1, wire::method(0, 10, 20, wire::long_string("challenge"))).starts_with("permanent: "));
}

TEST_CASE("another protocol on the port is recognised and permanent") {
  const std::string version = after(0, std::string("AMQP\3\1\0\0", 8));
  CHECK(version.starts_with("permanent: "));
  CHECK(has(version, "not 0-9-1"));
  CHECK(has(after(0, "HTTP/1.1 400 Bad Request\r\n"), "HTTP"));
  CHECK(has(after(0, "\x15\x03\x01"), "TLS"));
  CHECK(has(after(0, "SSH-2.0"), "does not answer with AMQP"));
  CHECK(has(after(0, std::string(1, '\0')), "does not answer with AMQP"));
  CHECK(after(0, "AMQP") == "more");
  CHECK(after(0, "HTT") == "more");
}

TEST_CASE("a length of 4 GB in the greeting is refused") {
  CHECK(has(after(0, wire::u8(1) + wire::u16(0) + wire::u32(0xFFFFFFFF)), "frame_max"));
}

TEST_CASE("an end in mid-handshake names what was awaited") {
  script s;
  CHECK(has(s.shake.interrupted("the broker hung up").message,
            "the broker hung up while waiting for the broker's greeting"));
  REQUIRE(s.feed(wire::start()) == "more");
  CHECK(has(s.shake.interrupted("the broker hung up").message, "the answer to the login"));
  CHECK(s.shake.interrupted("").kind == fault::transient);
}

TEST_CASE("a user or vhost that no frame can carry is refused for good") {
  auto s = settings();
  s.target.password.assign(10'000, 'x');
  CHECK(script(s).feed(wire::start()).starts_with("permanent: "));
}

TEST_CASE("a login by certificate names no user and no password") {
  auto how = settings();
  how.login = login_by::external;
  script refused{how};
  refused.sent();
  CHECK(has(refused.feed(wire::start(true, true, "PLAIN")), "rabbitmq_auth_mechanism_ssl"));
  script taken{how};
  taken.sent();
  CHECK(taken.feed(wire::start(true, true, "PLAIN EXTERNAL")) == "more");
  const auto sent = taken.sent();
  REQUIRE(sent.size() == 1);
  CHECK(has(sent[0].payload, "EXTERNAL"));
  CHECK_FALSE(has(sent[0].payload, "canary"));
}

}  // namespace amqp_handshake_test

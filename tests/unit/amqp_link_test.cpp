// amqp_link_test: the real driver against brokers that go wrong while messages are published.
#include <doctest/doctest.h>

#include "amqp_visit.hpp"

namespace amqp_link_test {

using namespace outboxd::test;

namespace {

constexpr int publishes = 3;

// Takes three publishes, says the words, and takes nothing more.
fake_broker::script answering(std::string words) {
  return [words = std::move(words)](broker_conversation& with) {
    with.shake_hands();
    for (int i = 0; i < publishes; ++i) with.next_publish();
    with.send(words);
    with.stop_reading();
  };
}

std::string four_gigabytes(int type, std::uint64_t channel) {
  return wire::u8(static_cast<std::uint64_t>(type)) + wire::u16(channel) + wire::u32(0xFFFFFFFF);
}

}  // namespace

TEST_CASE(
    "a broker that breaks the protocol loses the connection, and only what it acknowledged before is acked") {
  const std::string back = wire::returned(312, "NO_ROUTE");
  const struct {
    const char* what;
    std::string words;
    const char* told;
    const char* fates;
  } all[] = {
      {"an ack of an unknown tag", wire::ack(1) + wire::ack(9), "basic.ack for tag 9", "1+ 2? 3? "},
      {"an ack in the far future", wire::ack(~std::uint64_t{0}), "latest publish is 3", "1? 2? 3? "},
      {"an ack of many in the future", wire::ack(4, true), "latest publish is 3", "1? 2? 3? "},
      {"an ack twice", wire::ack(2) + wire::ack(2), "already confirmed", "2+ 1? 3? "},
      {"an ack of many twice", wire::ack(2, true) + wire::ack(2, true), "already confirmed", "1+ 2+ 3? "},
      {"an ack and a nack", wire::ack(1) + wire::nack(1), "basic.nack for tag 1", "1+ 2? 3? "},
      {"an ack of tag 0", wire::ack(0), "basic.ack for tag 0", "1? 2? 3? "},
      {"an ack of all, then one more", wire::ack(0, true) + wire::ack(3), "already confirmed", "1+ 2+ 3+ "},
      {"a nack of all, then nonsense", wire::nack(0, true) + wire::frame(1, 1, ""), "fewer than 4",
       "1- 2- 3- "},
      {"4 GB of a method", wire::ack(1) + four_gigabytes(1, 1), "4294967295 bytes", "1+ 2? 3? "},
      {"4 GB of a body", four_gigabytes(3, 1), "4294967295 bytes", "1? 2? 3? "},
      {"4 GB of a heartbeat", four_gigabytes(8, 0), "4294967295 bytes", "1? 2? 3? "},
      {"one byte over frame_max", wire::u8(1) + wire::u16(1) + wire::u32(131065), "131065 bytes",
       "1? 2? 3? "},
      {"an unknown method", wire::method(1, 999, 1), "method 999.1", "1? 2? 3? "},
      {"a delivery", wire::method(1, 60, 60), "method 60.60", "1? 2? 3? "},
      {"a second greeting", wire::start(), "method 10.10", "1? 2? 3? "},
      {"a second tune", wire::tune(), "method 10.30", "1? 2? 3? "},
      {"a confirm on channel 0", wire::method(0, 60, 80, wire::u64(1) + wire::u8(0)), "60.80", "1? 2? 3? "},
      {"a confirm on an unopened channel", wire::method(7, 60, 80, wire::u64(1) + wire::u8(0)),
       "channel 7, which is not open", "1? 2? 3? "},
      {"content without a return", wire::content_header("m1", 0), "out of order", "1? 2? 3? "},
      {"a body without a return", wire::frame(3, 1, "x"), "out of order", "1? 2? 3? "},
      {"an ack inside of a return", back + wire::ack(1), "out of order", "1? 2? 3? "},
      {"more body than announced", back + wire::content_header("m1", 1) + wire::frame(3, 1, "xy"),
       "more body", "1? 2? 3? "},
      {"a return of nobody's message", back + wire::content_header("m9", 0), "not waiting", "1? 2? 3? "},
      {"a return after the ack", wire::ack(1) + back + wire::content_header("m1", 0), "not waiting",
       "1+ 2? 3? "},
      {"a frame without an end", wire::u8(8) + wire::u16(0) + wire::u32(0) + "x", "0xCE", "1? 2? 3? "},
      {"another protocol", "HTTP/1.1 200 OK\r\n\r\n", "not AMQP", "1? 2? 3? "},
      {"a close-ok unasked for", wire::method(0, 10, 51), "method 10.51", "1? 2? 3? "},
      {"a close", wire::ack(2) + wire::connection_close(320, "CONNECTION_FORCED"), "320", "2+ 1? 3? "},
  };
  for (const auto& one : all) {
    CAPTURE(one.what);
    fake_broker at(answering(one.words));
    const visit seen(at, {.publishes = publishes});
    REQUIRE(seen.ended());
    CHECK_FALSE(seen.permanent());
    CHECK_MESSAGE(seen.says(one.told), seen.words());
    CHECK(seen.fates() == one.fates);
    CHECK(at.complaints().empty());
  }
}

TEST_CASE("a confirm that is cut at any byte settles nothing") {
  const std::string whole = wire::ack(publishes, true);
  for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    CAPTURE(bytes);
    fake_broker at([&](broker_conversation& with) {
      with.shake_hands();
      for (int i = 0; i < publishes; ++i) with.next_publish();
      with.cut_after(bytes, false);
      with.send(whole);
      with.hang_up();
    });
    const visit seen(at, {.publishes = publishes});
    CHECK_MESSAGE(seen.says("hung up"), seen.words());
    CHECK(seen.fates() == (bytes == whole.size() ? "1+ 2+ 3+ " : "1? 2? 3? "));
  }
}

TEST_CASE("a broker that says nothing at all is given up after two heartbeat intervals") {
  fake_broker at([](broker_conversation& with) {
    with.shake_hands();
    with.stop_reading();
  });
  const visit seen(at, {.publishes = publishes, .heartbeat = 1s});
  CHECK_MESSAGE(seen.says("no byte from the broker for 2 s"), seen.words());
  CHECK(seen.fates() == "1? 2? 3? ");
}

TEST_CASE("a broker that reads nothing and says nothing is given up, however much there is to send") {
  fake_broker at([](broker_conversation& with) {
    with.shake_hands();
    with.stop_reading();
  });
  const visit seen(at, {.publishes = 1000, .body = 100'000, .heartbeat = 1s});
  CHECK_MESSAGE(seen.says("no byte from the broker for 2 s"), seen.words());
  CHECK(seen.published() < 1000);  // the rest found no room: memory is bounded
}

TEST_CASE("so many messages may wait for their confirms, and each confirm makes room for another one") {
  fake_broker silent([](broker_conversation& with) {
    with.shake_hands();
    with.next_publish();
    with.hang_up();
  });
  CHECK(visit(silent, {.publishes = 5, .max_unconfirmed = 3}).fates() == "1? 2? 3? ");
  fake_broker confirming([](broker_conversation& with) {
    with.shake_hands();
    for (std::uint64_t tag = 1; tag <= 5; ++tag) {
      with.next_publish();
      with.ack(tag);
    }
    with.hang_up();
  });
  CHECK(visit(confirming, {.publishes = 5, .max_unconfirmed = 3}).fates() == "1+ 2+ 3+ 4+ 5+ ");
}

TEST_CASE("a connection with nothing to send sends heartbeats, or the broker would give it up") {
  std::string seen;
  {
    fake_broker at([&seen](broker_conversation& with) {
      with.shake_hands();
      seen = with.await_heartbeat();
      with.hang_up();
    });
    CHECK(visit(at, {.heartbeat = 2s}).says("hung up"));
  }
  CHECK(seen == wire::heartbeat());
}

}  // namespace amqp_link_test

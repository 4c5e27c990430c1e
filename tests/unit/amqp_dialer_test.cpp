// amqp_dialer_test: the real driver against brokers that go wrong in the middle of the handshake.
#include "amqp/dialer.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "amqp_visit.hpp"

namespace amqp_dialer_test {

using namespace outboxd::test;

namespace {

constexpr shake_step all_steps[] = {shake_step::greeting, shake_step::tune,    shake_step::open,
                                    shake_step::channel,  shake_step::confirm, shake_step::look,
                                    shake_step::declare};

std::size_t bytes_of_the_handshake() {
  std::size_t bytes = 0;
  for (const auto step : all_steps) bytes += answer_of(step).size();
  return bytes;
}

// Plays the handshake up to the step, then says something else.
fake_broker::script instead_of(shake_step step, std::string words) {
  return [step, words = std::move(words)](broker_conversation& with) {
    with.shake_hands(step);
    with.send(words);
    with.stop_reading();
  };
}

boost::asio::awaitable<void> is_refused(std::shared_ptr<outboxd::amqp::dialer> dialing, bool* failed) {
  const auto got = co_await outboxd::amqp::dialer::run(std::move(dialing));
  *failed = !got.has_value();
}

void check_sound(const fake_broker& at) {
  for (const auto& complaint : at.complaints()) FAIL_CHECK(complaint);
}

}  // namespace

TEST_CASE("a broker that is cut off at any byte of the handshake is waited for in vain, and said so") {
  for (const bool reset : {false, true}) {
    for (std::size_t bytes = 0; bytes < bytes_of_the_handshake(); ++bytes) {
      CAPTURE(bytes);
      CAPTURE(reset);
      fake_broker at([&](broker_conversation& with) {
        with.cut_after(bytes, reset);
        with.shake_hands();
      });
      const visit seen(at);
      CAPTURE(seen.words());
      REQUIRE(seen.ended());
      CHECK_FALSE(seen.opened());
      CHECK_FALSE(seen.permanent());
      CHECK(seen.says("while waiting for"));
      check_sound(at);
    }
  }
}

TEST_CASE("a handshake that comes byte by byte succeeds") {
  fake_broker at([](broker_conversation& with) {
    with.send_slowly();
    with.shake_hands();
    with.next_publish();
    with.ack(1);
    with.hang_up();
  });
  const visit seen(at, {.publishes = 1});
  CHECK(seen.opened());
  CHECK(seen.fates() == "1+ ");
  check_sound(at);
}

TEST_CASE("a broker that never answers a step is given up after connect_timeout") {
  for (const auto step : all_steps) {
    CAPTURE(static_cast<int>(step));
    fake_broker silent([step](broker_conversation& with) {
      with.shake_hands(step);
      with.stop_reading();
    });
    const visit first(silent, {.connect_timeout = 200ms});
    CHECK_MESSAGE(first.says("no success within 200 ms"), first.words());
    CHECK_FALSE(first.permanent());
    check_sound(silent);
    if (step == shake_step::greeting) continue;  // AMQP does not begin with a heartbeat
    fake_broker lively([step](broker_conversation& with) {
      with.shake_hands(step);
      with.only_heartbeats();
    });
    const visit second(lively, {.connect_timeout = 200ms});
    CHECK_MESSAGE(second.says("no success within 200 ms"), second.words());
    check_sound(lively);
  }
}

TEST_CASE("a frame_max that AMQP does not allow is refused, and 0 means no limit") {
  for (const std::uint64_t frame_max : {1, 7, 8, 4095}) {
    fake_broker at([frame_max](broker_conversation& with) {
      with.shake_hands(shake_step::open, {.frame_max = frame_max});
    });
    const visit seen(at);
    CHECK_MESSAGE(seen.says("frame_max " + std::to_string(frame_max) + " is below the 4096 bytes"),
                  seen.words());
    CHECK(seen.permanent());
  }
  for (const std::uint64_t frame_max : {std::uint64_t{0}, std::uint64_t{4096}, std::uint64_t{0xFFFFFFFF}}) {
    fake_broker at([frame_max](broker_conversation& with) {
      with.shake_hands(shake_step::done, {.frame_max = frame_max});
      with.next_publish();
      with.ack(1);
      with.hang_up();
    });
    const visit seen(at, {.publishes = 1, .body = 300'000});
    CHECK_MESSAGE(seen.fates() == "1+ ", seen.words());
    check_sound(at);
  }
}

TEST_CASE("a close at any step of the handshake is answered and told in the broker's words") {
  for (const auto step : all_steps) {
    CAPTURE(static_cast<int>(step));
    fake_broker at([step](broker_conversation& with) {
      with.shake_hands(step);
      with.send(wire::connection_close(320, "CONNECTION_FORCED - node is going down"));
      if (const auto answer = with.read().name(); answer != "10.51")
        throw std::runtime_error("the close was answered with " + answer);
    });
    const visit seen(at);
    CHECK_MESSAGE(seen.says("320 CONNECTION_FORCED - node is going down"), seen.words());
    CHECK_FALSE(seen.permanent());
    check_sound(at);
  }
}

TEST_CASE("what does not belong into a handshake ends it at once, at any step") {
  const struct {
    std::string words;
    const char* told;
  } all[] = {
      {wire::u8(1) + wire::u16(0) + wire::u32(0xFFFFFFFF), "a frame of 4294967295 bytes"},
      {wire::u8(5) + wire::u16(0) + wire::u32(0) + "\xCE", "does not answer|unknown type 5"},
      {wire::method(0, 999, 999), "method 999.999"},
      {wire::method(0, 60, 60), "method 60.60"},
      {wire::ack(1), "method 60.80"},
      {wire::content_header("m1", 0), "content before|does not answer"},
      {wire::frame(1, 0, "abc"), "fewer than 4 bytes"},
      {wire::method(0, 10, 30, "x"), "method 10.30 with damaged fields"},
      {wire::method(0, 10, 51), "method 10.51"},
  };
  for (const auto step : all_steps) {
    for (const auto& one : all) {
      CAPTURE(static_cast<int>(step));
      CAPTURE(one.told);
      fake_broker at(instead_of(step, one.words));
      const visit seen(at);
      const std::string_view told = one.told;
      const auto bar = told.find('|');
      CHECK_MESSAGE((seen.says(told.substr(0, bar)) ||
                     (bar != std::string_view::npos && seen.says(told.substr(bar + 1)))),
                    seen.words());
      CHECK_FALSE(seen.opened());
    }
  }
}

TEST_CASE("an attempt that fails within TLS leaves nothing behind") {
  const fake_broker plain([](broker_conversation& with) {
    with.send("this is no TLS");
    with.stop_reading();
  });
  outboxd::amqp::handshake_settings settings;
  settings.target.host = "127.0.0.1";
  settings.target.port = plain.port();
  settings.target.tls = true;
  boost::asio::io_context io;
  auto dialing = std::make_shared<outboxd::amqp::dialer>(io.get_executor(), settings, 10s,
                                                         outboxd::amqp::tls_settings{});
  const std::weak_ptr<outboxd::amqp::dialer> left = dialing;
  bool failed = false;
  boost::asio::co_spawn(io, is_refused(std::move(dialing), &failed), boost::asio::detached);
  io.run_for(30s);
  CHECK(failed);
  CHECK(left.expired());
}

}  // namespace amqp_dialer_test

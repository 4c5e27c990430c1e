// The real outboxd and the real PostgreSQL against a broker that does wrong: nothing is marked published that
// was not acknowledged, no attempt is counted, and when the broker does right everything is delivered.
#include <doctest/doctest.h>

#include <set>

#include "stage.hpp"
#include "support/fake_broker.hpp"

namespace outboxd::test::wire_test {
namespace {

constexpr int aggregates = 4;
constexpr int events = 10;  // of each

// One lane: its batch has all aggregates, so that at least three publishes are on their way at first.
const arguments quick{"--relay-lanes",         "1",  "--amqp-confirm-timeout", "300ms",
                      "--relay-claim-timeout", "2s", "--amqp-heartbeat",       "1s"};

void well(broker_conversation& with) {
  with.shake_hands();
  with.serve();
}

// Takes a few publishes, acknowledges some of them, and then does wrong.
fake_broker::script after_some(const std::function<void(broker_conversation&)>& wrong) {
  return [wrong](broker_conversation& with) {
    with.shake_hands();
    for (int i = 0; i < 3; ++i) with.next_publish();
    with.ack(2);
    wrong(with);
  };
}
fake_broker::script saying(const std::string& words) {
  return after_some([words](broker_conversation& with) {
    with.send(words);
    with.stop_reading();
  });
}

std::set<std::string> published(const stage& on) {
  std::set<std::string> ids;
  for (const auto& row : on.connect().exec("SELECT id FROM outbox.event WHERE status = 'published'"))
    ids.insert(row[0].value());
  return ids;
}

void check_only_acknowledged(const stage& on, const fake_broker& at) {
  const auto marked = published(on);  // first: the other grows meanwhile
  const auto acknowledged = at.acknowledged();
  for (const auto& id : marked) CHECK_MESSAGE(acknowledged.contains(id), id);
}

// Relays against the broker as it is, until outboxd says `words`; then against one that does right.
void relay_through(fake_broker& at, const std::string& words, int body = 0) {
  const stage on;
  on.connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', a, 'order.created', to_jsonb(repeat('x', $3::int))"
      " FROM generate_series(1, $1::int) AS n, generate_series(1, $2::int) AS a",
      {std::to_string(events), std::to_string(aggregates), std::to_string(body)});
  relay running{on, quick, {{"OUTBOXD_AMQP_URL", at.url()}}};
  running.wait_line(words, time_limit);
  check_only_acknowledged(on, at);

  at.play(well);
  on.await_drained();
  check_only_acknowledged(on, at);
  CHECK(on.count("published") == events * aggregates);
  CHECK(on.connect().number("SELECT count(*) FROM outbox.event WHERE attempts > 0") == 0);
  running.stop();
  for (const auto& complaint : at.complaints()) FAIL_CHECK(complaint);
}

}  // namespace

TEST_CASE("a broker that breaks the protocol in mid-batch costs a connection and nothing else") {
  const std::string back = wire::returned(312, "NO_ROUTE");
  const struct {
    std::string words;
    std::string told;
  } all[] = {
      {wire::ack(9), "basic.ack for tag 9"},
      {wire::ack(2), "already confirmed"},
      {wire::ack(1'000'000, true), "basic.ack for tag 1000000"},
      {wire::u8(1) + wire::u16(1) + wire::u32(0xFFFFFFFF), "4294967295 bytes"},
      {wire::method(1, 999, 1), "method 999.1"},
      {wire::method(7, 60, 80, wire::u64(1) + wire::u8(0)), "channel 7"},
      {wire::content_header("m1", 0), "out of order"},
      {back + wire::ack(1), "out of order"},
      {wire::connection_close(320, "CONNECTION_FORCED - broker forced"), "320 CONNECTION_FORCED"},
  };
  for (const auto& one : all) {
    CAPTURE(one.told);
    fake_broker at{saying(one.words)};
    relay_through(at, one.told);
  }
}

TEST_CASE("a broker that hangs up or is cut off in mid-batch costs a connection and nothing else") {
  for (const bool reset : {false, true}) {
    fake_broker at{after_some([reset](broker_conversation& with) { with.hang_up(reset); })};
    relay_through(at, reset ? "the connection broke" : "hung up");
  }
}

TEST_CASE("a broker that takes everything and confirms nothing is dropped after confirm_timeout") {
  fake_broker at{[](broker_conversation& with) {
    with.shake_hands();
    with.only_heartbeats();
  }};
  relay_through(at, "no confirm for 300 ms");
}

TEST_CASE(
    "a broker that stops reading is dropped after confirm_timeout, with more to send than buffers hold") {
  fake_broker at{[](broker_conversation& with) {
    with.shake_hands();
    with.stop_reading();
  }};
  relay_through(at, "no confirm for 300 ms", 1'000'000);
}

TEST_CASE("a broker that only accepts connections is tried again until it does right") {
  fake_broker at{[](broker_conversation& with) { with.hang_up(); }};
  relay_through(at, "hung up while waiting for the broker's greeting");
}

TEST_CASE(
    "a broker whose frame_max is too small ends a first start, and a running relay waits for a better one") {
  const auto small = [](broker_conversation& with) {
    with.shake_hands(shake_step::open, {.frame_max = 4095});
  };
  fake_broker at{small};
  const stage on;
  const auto first = run_outboxd({"run"}, [&] {
    auto variables = on.variables();
    variables["OUTBOXD_AMQP_URL"] = at.url();
    return variables;
  }());
  CHECK(first.exited(1));
  CHECK_MESSAGE(first.says("frame_max 4095 is below the 4096 bytes"), first.text());

  at.play([](broker_conversation& with) {
    with.shake_hands();
    with.next_publish();
    with.hang_up();
  });
  relay running{on, quick, {{"OUTBOXD_AMQP_URL", at.url()}}};
  running.await_connected();
  at.play(small);
  on.add_events(events);
  running.wait_line("frame_max 4095 is below", time_limit);
  at.play(well);
  on.await_drained();
  check_only_acknowledged(on, at);
  CHECK(on.count("published") == events);
  running.stop();
}

}  // namespace outboxd::test::wire_test

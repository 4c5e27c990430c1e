// flow_server_clock_test: the server's time is known as well as the best answer tells it.
#include "flow/stream/server_clock.hpp"

#include <doctest/doctest.h>

namespace flow_server_clock_test {

using namespace outboxd::flow;
using namespace std::chrono_literals;
using outboxd::timestamp;

namespace {

constexpr clock::time_point start{1'000s};
constexpr timestamp noon{std::chrono::microseconds(1'700'000'000'000'000)};

}  // namespace

TEST_CASE("nothing is known before the first answer") {
  CHECK_FALSE(server_clock().at(start));
}

TEST_CASE("an answer is taken to be half as old as its round trip, and time goes on from there") {
  server_clock it;
  it.on_answer(start, start + 10ms, noon);
  CHECK(it.at(start + 5ms) == noon);
  CHECK(it.at(start + 5ms + 3s) == noon + 3s);
}

TEST_CASE("a slow answer does not spoil a quick one") {
  server_clock it;
  it.on_answer(start, start + 2ms, noon);
  it.on_answer(start + 1s, start + 2s, noon);  // was on its way for most of a second
  CHECK(it.at(start + 1ms) == noon);
}

TEST_CASE("a quicker answer corrects a slow one at once") {
  server_clock it;
  it.on_answer(start, start + 1s, noon);
  it.on_answer(start + 2s, start + 2s + 2ms, noon);
  CHECK(it.at(start + 2s + 1ms) == noon);
}

// 200 parts of a million: 20 ms in 100 s.
TEST_CASE("a slow answer is believed when the quick one is so old that the clocks may have drifted further") {
  server_clock it;
  it.on_answer(start, start + 2ms, noon);
  it.on_answer(start + 100s, start + 100s + 20ms, noon + 1h);
  CHECK(it.at(start + 100s + 10ms) == noon + 1h);
}

}  // namespace flow_server_clock_test

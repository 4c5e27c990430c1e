// Guarantee 10 at every crash point: the relay dies there as by kill -9, and nothing is lost or overtaken.
#include <doctest/doctest.h>

#include "stage.hpp"

namespace outboxd::test::failpoint_test {
namespace {

constexpr int batch = 20;
constexpr int in_flight = 4 * batch;  // at most
const arguments small{"--relay-batch", std::to_string(batch)};

const std::vector<std::string> crash_points{"claimed", "sent", "acked", "marking", "marked"};

}  // namespace

TEST_CASE("a crash at any point loses nothing, overtakes nothing and repeats no more than was in flight") {
  for (const auto& point : crash_points) {
    for (const int pass : {1, 3, 8}) {
      CAPTURE(point);
      CAPTURE(pass);
      const stage on;
      on.add_events(30, 60);
      relay victim{on, small, {{"OUTBOXD_FAILPOINT", fmt::format("{}:{}", point, pass)}}};
      CHECK(victim.wait(time_limit).signal == SIGKILL);
      CHECK(on.count("pending") > 0);
      relay successor{on, small};
      const auto report = on.check_all();
      CHECK_MESSAGE(report.sound(), report.words());
      CHECK_MESSAGE(report.duplicates <= static_cast<std::size_t>(in_flight), report.words());
      CHECK(on.connect().number("SELECT count(*) FROM outbox.event WHERE attempts > 0") == 0);
      successor.stop();
    }
  }
}

TEST_CASE("a crash before anything is sent repeats nothing") {
  const stage on;
  on.add_events(6, 60);
  relay victim{on, small, {{"OUTBOXD_FAILPOINT", "claimed:1"}}};
  CHECK(victim.wait(time_limit).signal == SIGKILL);
  relay successor{on, small};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  successor.stop();
}

}  // namespace outboxd::test::failpoint_test

// Guarantee 10 at every crash point: the relay dies there as by kill -9, and nothing is lost or overtaken.
#include <doctest/doctest.h>

#include "stage.hpp"

namespace outboxd::test {
namespace {

constexpr int lanes = 2;
constexpr int batch = 20;
const arguments small{"--relay-lanes", std::to_string(lanes), "--relay-batch", std::to_string(batch)};

struct crash_point {
  std::string name;
  bool repeats;  // an event of the batch may already be in the queue
};

const std::vector<crash_point> crash_points{
    {"claimed", false}, {"sent", true}, {"acked", true}, {"marking", true}, {"marked", false},
};

}  // namespace

TEST_CASE("a crash at any point loses nothing, overtakes nothing and repeats no more than was in flight") {
  for (const auto& point : crash_points) {
    for (const int pass : {1, 3, 8}) {
      CAPTURE(point.name);
      CAPTURE(pass);
      const stage on;
      on.add_events(6, 60);
      relay victim{on, small, {{"OUTBOXD_FAILPOINT", fmt::format("{}:{}", point.name, pass)}}};
      CHECK(victim.wait(patience).signal == SIGKILL);
      CHECK(on.count("pending") > 0);
      relay successor{on, small};
      const auto report = on.check_all();
      CHECK_MESSAGE(report.sound(), report.words());
      CHECK_MESSAGE(report.duplicates <= static_cast<std::size_t>(lanes * batch), report.words());
      CHECK(on.connect().number("SELECT count(*) FROM outbox.event WHERE attempts > 0") == 0);
      successor.stop();
    }
  }
}

TEST_CASE("before anything is sent, and once all is marked, a crash of the only lane repeats nothing") {
  for (const auto& point : crash_points) {
    if (point.repeats) continue;
    CAPTURE(point.name);
    const stage on;
    on.add_events(6, 60);
    relay victim{on,
                 {"--relay-lanes", "1", "--relay-batch", "20"},
                 {{"OUTBOXD_FAILPOINT", fmt::format("{}:3", point.name)}}};
    CHECK(victim.wait(patience).signal == SIGKILL);
    relay successor{on, small};
    const auto report = on.check_all();
    CHECK_MESSAGE(report.exact(), report.words());
    successor.stop();
  }
}

}  // namespace outboxd::test

// app_service_notices_test: what the service manager hears of a relay, and when.
#include <doctest/doctest.h>

#include <functional>

#include "app/daemon/service_notices.hpp"
#include "support/notify_socket.hpp"

namespace app_service_notices_test {

using namespace outboxd;
using namespace outboxd::app;
using outboxd::test::notify_socket;
using namespace std::chrono_literals;

namespace {

relay::relay_figures leading() {
  relay::relay_figures out;
  out.now_in = relay::progress::running;
  out.shards_led = 1;
  return out;
}

// A relay that is what a test makes it, and its service manager.
struct told_of {
  explicit told_of(std::optional<std::chrono::microseconds> watchdog = std::nullopt)
      : service(manager.address(), watchdog) {
    notices.start();
  }
  ~told_of() { notices.stop(); }

  // Turns the reactor until the manager has such a line.
  std::size_t await(const std::string& begin, std::size_t from = 0) {
    const auto deadline = test::steady_clock::now() + 60s;
    while (test::steady_clock::now() < deadline) {
      const auto& all = manager.lines();
      for (std::size_t at = from; at < all.size(); ++at)
        if (all[at].starts_with(begin)) return at;
      io.run_one_for(1s);
    }
    throw test::deadline_passed("nobody said " + begin);
  }

  notify_socket manager;
  sd_notify service;
  boost::asio::io_context io{1};
  relay::relay_figures figures;
  std::optional<std::string> trouble;
  std::vector<std::string> unheard;
  service_notices notices{io,
                          service,
                          {.state = [this] { return state_of(figures); },
                           .stuck = [this] { return trouble; },
                           .unheard = [this](const std::string& why) { unheard.push_back(why); }}};
};

}  // namespace

TEST_CASE("a relay is ready when it runs, and not while it tries its servers for the first time") {
  told_of one;
  one.await("STATUS=connecting");
  CHECK_FALSE(one.manager.has("READY=1"));
  one.figures = leading();
  one.await("STATUS=leads 1 of 1 shards");
  CHECK(one.manager.has("READY=1"));
  CHECK_FALSE(one.manager.has("STOPPING=1"));
}

TEST_CASE("a relay whose servers do not answer at all is ready all the same, before a start times out") {
  told_of one;
  one.await("READY=1");
  CHECK(one.figures.now_in == relay::progress::starting);
}

TEST_CASE("a status is said once, until it changes") {
  told_of one(10ms);
  one.figures = leading();
  const auto from = one.await("STATUS=leads");
  for (int i = 0; i < 3; ++i) one.notices.look();
  one.figures.shards_led = 0;
  one.notices.look();
  const auto next = one.await("STATUS=", from + 1);
  CHECK(one.manager.lines().at(next) == "STATUS=standby: another relay leads");
}

TEST_CASE("a stop is said at once, and that it needs more time again and again") {
  told_of one;
  one.figures = leading();
  one.await("READY=1");
  one.figures.now_in = relay::progress::stopping;
  one.notices.look();
  CHECK(one.manager.has("STOPPING=1"));
  const auto first = one.await("EXTEND_TIMEOUT_USEC=10000000");
  one.await("EXTEND_TIMEOUT_USEC=10000000", first + 1);
  one.notices.stop();
  one.io.run();  // and it has no work left
}

TEST_CASE("the watchdog is fed until the relay is stuck") {
  told_of one(20ms);
  const auto first = one.await("WATCHDOG=1");
  const auto second = one.await("WATCHDOG=1", first + 1);
  one.trouble = "a lane hangs";
  one.figures = leading();
  one.await("STATUS=leads");  // many times 10 ms later
  const auto all = one.manager.lines().size();
  one.io.run_for(200ms);
  CHECK(one.manager.lines().size() == all);
  one.trouble.reset();
  one.await("WATCHDOG=1", std::max(second + 1, all));
}

TEST_CASE("a reload begins with the time and ends with READY=1, also if the settings are refused") {
  told_of one;
  one.notices.reloading();  // nobody asks before the start is over
  CHECK_FALSE(one.manager.has("RELOADING=1"));
  one.figures = leading();
  one.await("READY=1");
  for (const bool refused : {true, false}) {
    const auto from = one.manager.lines().size();
    one.notices.reloading();
    one.notices.reloaded(refused);
    const auto begun = one.await("RELOADING=1", from);
    const auto& all = one.manager.lines();
    CHECK(all.at(begun + 1).starts_with("MONOTONIC_USEC="));
    CHECK(all.at(begun + 2) == "READY=1");
    CHECK((all.at(begun + 3).find("were refused") != std::string::npos) == refused);
  }
}

TEST_CASE("a service manager that cannot be told is a matter of one warning") {
  boost::asio::io_context io(1);
  const sd_notify service("/nonexistent/notify");
  int warnings = 0;
  service_notices notices(io, service,
                          {.state = [] { return state_of(leading()); },
                           .stuck = {},
                           .unheard = [&](const std::string&) { ++warnings; }});
  notices.start();
  for (int i = 0; i < 3; ++i) notices.look();
  notices.stop();
  io.run();
  CHECK(warnings == 1);
}

TEST_CASE("without a service manager there is no work to do") {
  boost::asio::io_context io(1);
  const sd_notify nobody("");
  service_notices notices(io, nobody, {});
  notices.start();
  CHECK(io.run() == 0);
}

TEST_CASE("the status line names what is wrong first") {
  auto figures = leading();
  figures.shards = 4;
  figures.shards_led = 2;
  CHECK(state_of(figures).line == "leads 2 of 4 shards");
  figures.obstacles.push_back({"broker_down", "connection refused", {}});
  CHECK(state_of(figures).line == "not publishing (broker_down): connection refused");
  figures.now_in = relay::progress::stopping;
  CHECK(state_of(figures).line == "stopping: waiting for outstanding confirms");
}

}  // namespace app_service_notices_test

// app_sd_notify_test: datagrams to the service manager, and what is wrong with a socket that does not take
// them.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "app/daemon/sd_notify.hpp"
#include "support/notify_socket.hpp"

namespace app_sd_notify_test {

using namespace outboxd::app;
using outboxd::test::notify_socket;
using namespace std::chrono_literals;

namespace {

struct variables {
  variables(const std::string& socket, const std::string& microseconds, const std::string& process) {
    set("NOTIFY_SOCKET", socket);
    set("WATCHDOG_USEC", microseconds);
    set("WATCHDOG_PID", process);
  }
  static void set(const char* name, const std::string& value) {
    if (value.empty())
      ::unsetenv(name);
    else
      ::setenv(name, value.c_str(), 1);
  }
};

std::string refusal(const std::string& address) {
  const auto sent = sd_notify(address).send("READY=1");
  return sent ? "" : sent.error().message;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

TEST_CASE("a datagram arrives at a socket with a path and at an abstract one") {
  for (const auto kind : {notify_socket::kind::path, notify_socket::kind::abstract}) {
    notify_socket manager(kind);
    const sd_notify service(manager.address());
    REQUIRE(service.send("READY=1\nSTATUS=well").has_value());
    REQUIRE(service.send("WATCHDOG=1").has_value());
    CHECK(manager.lines() == std::vector<std::string>{"READY=1", "STATUS=well", "WATCHDOG=1"});
  }
}

TEST_CASE("without a service manager nothing is sent, and that is no error") {
  const sd_notify nobody("");
  CHECK_FALSE(nobody.wanted());
  CHECK(nobody.send("READY=1").has_value());
}

TEST_CASE("a bad address is an error that names it") {
  const std::string too_long = "/" + std::string(200, 'x');
  for (const std::string address : {"relative/path", "vsock:2:1234", "@", "/"}) {
    CAPTURE(address);
    CHECK(has(refusal(address), "NOTIFY_SOCKET = '" + address + "'"));
  }
  CHECK(has(refusal(too_long), too_long));
  CHECK(has(refusal("/nonexistent/notify"), "No such file"));
  const auto gone = [] { return notify_socket().address(); }();
  CHECK_FALSE(refusal(gone).empty());
}

TEST_CASE("a manager that does not read blocks nobody") {
  const notify_socket deaf;
  const sd_notify service(deaf.address());
  int sent = 0;
  while (sent < 100'000 && service.send("STATUS=well")) ++sent;
  CHECK(sent > 0);
  CHECK(sent < 100'000);
}

TEST_CASE("the variables are taken out of the environment") {
  notify_socket manager;
  const variables given(manager.address(), "3000000", std::to_string(::getpid()));
  const auto service = sd_notify::from_environment();
  CHECK(service.wanted());
  CHECK(service.watchdog() == 3s);
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})
    CHECK(std::getenv(name) == nullptr);
  CHECK(service.send("READY=1").has_value());
  CHECK(manager.has("READY=1"));
}

TEST_CASE("the watchdog is fed if it is for this process and says how often") {
  const auto watchdog = [](const std::string& socket, const std::string& microseconds,
                           const std::string& process) {
    const variables given(socket, microseconds, process);
    return sd_notify::from_environment().watchdog();
  };
  const auto own = std::to_string(::getpid());
  CHECK(watchdog("@some", "500000", "") == 500ms);
  CHECK(watchdog("@some", "500000", own) == 500ms);
  CHECK_FALSE(watchdog("@some", "500000", std::to_string(::getpid() + 1)).has_value());
  CHECK_FALSE(watchdog("@some", "500000", "me").has_value());
  CHECK_FALSE(watchdog("@some", "0", own).has_value());
  CHECK_FALSE(watchdog("@some", "-1", own).has_value());
  CHECK_FALSE(watchdog("@some", "often", own).has_value());
  CHECK_FALSE(watchdog("@some", "", own).has_value());
  CHECK_FALSE(watchdog("", "500000", own).has_value());
}

TEST_CASE("a status is one line, and not cut within a letter") {
  CHECK(one_status_line("well\nREADY=1\ttoo") == "well READY=1 too");
  CHECK(one_status_line(std::string(600, 'x')) == std::string(500, 'x'));
  const std::string almost(498, 'x');
  CHECK(one_status_line(fmt::format("{}xäyz", almost)) == fmt::format("{}x", almost));
  CHECK(one_status_line(fmt::format("{}äyz", almost)) == fmt::format("{}ä", almost));
}

}  // namespace app_sd_notify_test

// relay_password_command_test: what a program of the user's may do instead of printing a password.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fstream>
#include <optional>

#include "relay/password_command.hpp"
#include "temporary_file.hpp"

namespace relay_password_command_test {

using namespace outboxd;
using namespace std::chrono_literals;
using outboxd::test::temporary_file;
using relay::password_command;
namespace asio = boost::asio;

namespace {

// Far beyond what a program takes that does not hang.
constexpr relay::command_limits patient{.time = 60s};
// For one that hangs.
constexpr relay::command_limits short_time{.time = 300ms};

std::vector<std::string> shell(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

struct reactor {
  asio::io_context io;
  std::optional<result<std::string>> done;

  void start(password_command& one) {
    asio::co_spawn(io, one.run(), [&](std::exception_ptr thrown, result<std::string> got) {
      if (thrown) std::rethrow_exception(thrown);
      done = std::move(got);
    });
  }
};

result<std::string> run(const std::vector<std::string>& words, relay::command_limits limits = patient) {
  password_command one("database.password_command", words, limits);
  reactor at;
  at.start(one);
  at.io.run();
  return at.done.value();
}

std::string refusal(const std::vector<std::string>& words, relay::command_limits limits = patient) {
  const auto got = run(words, limits);
  if (got) return "none";
  CHECK(got.error().kind == fault::transient);
  CHECK(got.error().message.starts_with("database.password_command: " + words.front()));
  CHECK(got.error().message.find("canary") == std::string::npos);
  return got.error().message;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the password is what the program prints, without one newline at the end") {
  CHECK(run({"/bin/echo", "canary"}) == "canary");
  CHECK(run({"/bin/echo", "-n", "canary"}) == "canary");
  CHECK(run(shell("printf 'canary\\r\\n'")) == "canary");
  CHECK(run(shell("printf '  @:/%% \\n'")) == "  @:/% ");
  CHECK(run(shell("sleep 0.2; printf cana; exec >&2; sleep 0.2; echo ry")) == "cana");
  CHECK(run({"/bin/echo", "$HOME", "*", "a b"}) == "$HOME * a b");
  const std::string longest(65'536, 'x');
  CHECK(run(shell("head -c 65536 /dev/zero | tr '\\0' x")) == longest);
}

TEST_CASE("a program that cannot be run is named with the reason") {
  CHECK(has(refusal({"/nonexistent/program"}), "cannot be run: No such file or directory"));
  CHECK(has(refusal({"/etc/passwd"}), "cannot be run: Permission denied"));
  CHECK(has(refusal({"/tmp"}), "cannot be run: Permission denied"));
  const temporary_file none("no program\n", 0700);
  CHECK(has(refusal({none.path()}), "cannot be run: Exec format error"));
}

TEST_CASE("a program that fails, prints nothing or too much is named, and nothing that it printed") {
  CHECK(has(refusal(shell("echo canary; echo canary >&2; exit 3")), "ended with status 3"));
  CHECK(has(refusal(shell("echo canary; kill -TERM $$")), "ended by signal 15"));
  CHECK(has(refusal(shell("true")), "printed nothing"));
  CHECK(has(refusal(shell("echo")), "printed nothing"));
  CHECK(has(refusal(shell("echo canary; echo canary")), "more than one line"));
  CHECK(has(refusal(shell("printf 'canary\\0'")), "more than one line"));
  CHECK(has(refusal(shell("yes canary")), "printed more than 65536 bytes"));
  CHECK(has(refusal(shell("head -c 1000000 /dev/zero")), "printed more than 65536 bytes"));
}

TEST_CASE("a program that hangs is killed, and whatever it has started") {
  for (const char* hanging : {"sleep 1000", "exec >/dev/null; sleep 1000", "trap '' TERM INT; sleep 1000",
                              "echo canary; sleep 1000 & wait"}) {
    CAPTURE(hanging);
    const temporary_file group("");
    CHECK(has(refusal(shell(fmt::format("echo $$ > {}; {}", group.path(), hanging)), short_time),
              "has not ended within 300 ms and was killed"));
    pid_t leader = 0;
    std::ifstream(group.path()) >> leader;
    // init, or who stands for it, may take a while to reap what is dead.
    if (leader > 0) CHECK((::kill(leader, 0) != 0 && errno == ESRCH));
  }
  // What has left its group keeps the pipe open, and is waited for no longer.
  CHECK(has(refusal(shell("setsid sleep 20 & exit 0"), short_time), "has not ended within 300 ms"));
}

TEST_CASE("the reactor goes on while the program runs") {
  const temporary_file sign("");
  reactor at;
  password_command one("database.password_command",
                       shell(fmt::format("until [ -s {} ]; do sleep 0.01; done; echo canary", sign.path())),
                       patient);
  at.start(one);
  asio::steady_timer timer(at.io, 50ms);
  timer.async_wait([&](const boost::system::error_code&) { sign.write("go"); });
  at.io.run();
  CHECK(at.done.value() == "canary");
}

TEST_CASE("several run at once, each for its own connection") {
  const temporary_file runs("");
  password_command one("database.password_command",
                       shell(fmt::format("echo x >> {}; echo canary", runs.path())), patient);
  reactor at;
  reactor other;
  at.start(one);
  at.start(one);
  at.io.run();
  other.start(one);
  other.io.run();
  CHECK(at.done.value() == "canary");
  CHECK(other.done.value() == "canary");
  std::ifstream all(runs.path());
  CHECK(std::string(std::istreambuf_iterator<char>(all), {}) == "x\nx\nx\n");
}

TEST_CASE("stop ends a program that runs, and lets no other begin") {
  password_command one("database.password_command", shell("sleep 1000"), patient);
  reactor at;
  at.start(one);
  asio::steady_timer timer(at.io, 50ms);
  timer.async_wait([&](const boost::system::error_code&) { one.stop(); });
  at.io.run();
  CHECK(has(at.done.value().error().message, "was stopped with outboxd"));
  reactor later;
  later.start(one);
  later.io.run();
  CHECK(has(later.done.value().error().message, "is not run any more"));
}

TEST_CASE("the program gets none of our descriptors, and nothing to read") {
  const temporary_file open_file("x");
  const std::ifstream held(open_file.path());
  CHECK(run(shell("echo $(ls /proc/self/fd)")) == "0 1 2 3");  // the last one is ls's own
  CHECK(run(shell("cat; echo end")) == "end");
}

}  // namespace relay_password_command_test

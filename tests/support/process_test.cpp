// process_test: output, signals, ends and deadlines of a child program.
#include "support/process.hpp"

#include <doctest/doctest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <system_error>

namespace outboxd::test::process_test {
namespace {

using std::chrono::milliseconds;

process_options shell(const std::string& script) {
  return {"sh", {"-c", script}, {{"GREETING", "hello"}}, {}};
}

}  // namespace

TEST_CASE("both outputs are captured, the environment is passed on, the exit code is told") {
  process child{shell("echo $GREETING; echo oops >&2; printf unfinished; exit 3")};
  CHECK(child.wait() == exit_status{3, std::nullopt});
  CHECK(child.wait_line("unfinished") == "unfinished");
  CHECK(child.lines() == std::vector<std::string>{"hello", "oops", "unfinished"});
  CHECK_FALSE(child.running());
}

TEST_CASE("what was written before the output ended is there when the wait is over") {
  process child{shell("(sleep 0.1; echo late) & exit 1")};
  CHECK(child.wait() == exit_status{1, std::nullopt});
  CHECK(child.lines() == std::vector<std::string>{"late"});
}

TEST_CASE("a line to come is waited for, and a line that has passed is found") {
  process child{shell("echo first; read line; echo second; exec sleep 60")};
  CHECK(child.wait_line("second") == "second");
  CHECK(child.wait_line("first") == "first");
  CHECK(child.running());
  CHECK_THROWS_AS(child.wait_line("first", milliseconds{20}, 1), deadline_passed);
}

TEST_CASE("output that ends without the line is an error at once, and a missed end one at the deadline") {
  process short_one{shell("echo only")};
  CHECK_THROWS_AS(short_one.wait_line("other"), std::runtime_error);
  process long_one{shell("exec sleep 60")};
  CHECK_THROWS_AS(long_one.wait(milliseconds{20}), deadline_passed);
}

TEST_CASE("a signal reaches the program, and its end tells which") {
  process child{shell("trap 'echo caught; exit 7' TERM; echo ready; while :; do sleep 0.01; done")};
  child.wait_line("ready");
  child.send(SIGTERM);
  CHECK(child.wait() == exit_status{7, std::nullopt});
  process other{shell("exec sleep 60")};
  other.send(SIGKILL);
  CHECK(other.wait() == exit_status{std::nullopt, SIGKILL});
  other.send(SIGTERM);  // nobody there any more: nothing happens
}

TEST_CASE("the destructor leaves no process behind") {
  pid_t pid = -1;
  {
    process child{shell("echo up; exec sleep 60")};
    child.wait_line("up");
    pid = child.pid();
  }
  CHECK(::kill(pid, 0) == -1);
}

TEST_CASE("output also goes to the log file") {
  const auto file =
      std::filesystem::temp_directory_path() / ("outboxd-process-test-" + std::to_string(::getpid()));
  auto options = shell("echo one; echo two");
  options.log_file = file;
  {
    process child{options};
    child.wait();
  }
  std::ifstream log{file};
  std::string text{std::istreambuf_iterator<char>{log}, {}};
  CHECK(text == "one\ntwo\n");
  std::filesystem::remove(file);
}

TEST_CASE("a program that does not exist is an error") {
  CHECK_THROWS_AS((process{{"/nonexistent/program", {}, {}, {}}}), std::system_error);
}

}  // namespace outboxd::test::process_test
